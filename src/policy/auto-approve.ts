/**
 * Auto-approve rules (docs/design.md#who-may-do-what): what people settle in advance, for yellow tools and destinations. Pure.
 *
 * A pattern is one of
 * - `destination:HOST`, `destination:.DOMAIN` (the domain and all below it), either with `:PORT`;
 * - `tool:NAME`: every call of a yellow tool;
 * - `tool:NAME:GLOB`: only calls whose subject fits. The subject is the real path of write_file and edit_file (`src/a.ts`), the command of
 *   run_command, `NODE COMMAND` of execute_ssh, `NODE UNIT` of restart_service, `NODE` of wake_node; a node may be written
 *   `CLUSTER/NODE`. `*` stands for any plain characters (in a path: of one segment, `**` for any number of them); in a command it
 *   never stands for a character that means something to a shell.
 *
 * What an `allow` can lift, and nothing else:
 * - any matching rule: the ask that level `strict` adds to a yellow tool. So a wildcard never lets run what `balanced` would not;
 * - a rule whose GLOB is the exact subject, without wildcard: for run_command also `network_blocked` and `no_view`, for write_file and
 *   edit_file also `CONTROL_FILE`.
 * Never `sandbox_not_enforced`, `SECRET_FILE`, an ask of a configured command rule, anything that denies, anything red.
 * A destination's `allow` lifts no run's network: the sandbox opens the network or not, it cannot hold a run to one host.
 */

import { type AutoApproveAction, autoApproveActions, type BlockReason, defaultApprovalDomains } from '#kernel/approval/security';
import { allow, ask, type Decision, deny } from '#kernel/decision';
import type { Target } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { ActionTier, SecurityLevel } from '#kernel/tiers';
import { type Destination, matchesDestination, parseDestination } from './destinations.ts';

export type RulePattern =
  | { readonly kind: 'destination'; readonly text: string; readonly host: string }
  | { readonly kind: 'tool'; readonly text: string; readonly tool: string; readonly glob?: string };

/** A rule that counts: its pattern was understood, its signature verified, its time is not over. */
export interface LiveRule {
  readonly pattern: RulePattern;
  readonly action: AutoApproveAction;
}

export type ParsedPattern = { readonly ok: true; readonly pattern: RulePattern } | { readonly ok: false; readonly why: string };

const maxPatternLength = 300;

/** Reads a pattern into its canonical form (`pattern.text`). `yellowTools`: the names that a tool pattern may have. */
export function parseRulePattern(text: string, yellowTools: readonly string[]): ParsedPattern {
  const trimmed = text.trim();
  if (trimmed.length > maxPatternLength) return { ok: false, why: `a pattern has at most ${maxPatternLength} characters` };
  if (showPlainly(trimmed, maxPatternLength) !== trimmed) return { ok: false, why: 'a pattern holds only visible characters of one line' };
  if (trimmed.startsWith('destination:')) return destinationPattern(trimmed.slice('destination:'.length));
  if (trimmed.startsWith('tool:')) return toolPattern(trimmed.slice('tool:'.length), yellowTools);
  return { ok: false, why: 'a pattern starts with `destination:` or `tool:`' };
}

function destinationPattern(text: string): ParsedPattern {
  const isSuffix = text.startsWith('.');
  const bare = isSuffix ? text.slice(1) : text;
  const parsed = /[/*?#]/.test(bare) ? undefined : parseDestination(bare);
  if (parsed === undefined) return { ok: false, why: '`destination:` needs a host (`api.example.com`) or a domain (`.example.com`)' };
  if (isSuffix && /^\[|^[\d.]+$/.test(parsed.host)) return { ok: false, why: 'an address has no domains below it; leave out the dot' };
  const host = `${isSuffix ? '.' : ''}${formatDestination(parsed)}`;
  return { ok: true, pattern: { kind: 'destination', text: `destination:${host}`, host } };
}

function toolPattern(text: string, yellowTools: readonly string[]): ParsedPattern {
  const colon = text.indexOf(':');
  const tool = colon === -1 ? text : text.slice(0, colon);
  const glob = colon === -1 ? undefined : text.slice(colon + 1).trim();
  if (!yellowTools.includes(tool)) {
    const known = yellowTools.map((name) => `\`${name}\``).join(', ');
    return { ok: false, why: `rules are for yellow tools only: ${known}` };
  }
  if (glob === '') return { ok: false, why: 'there is nothing behind the last colon; leave it out, or say which calls' };
  const full = glob === undefined ? `tool:${tool}` : `tool:${tool}:${glob}`;
  return { ok: true, pattern: { kind: 'tool', text: full, tool, ...(glob === undefined ? {} : { glob }) } };
}

/** `host` or `host:port`. */
export function formatDestination({ host, port }: Destination): string {
  return port === undefined ? host : `${host}:${port}`;
}

/** Whether an `allow` for it would be for half the internet: `destination:.com`. */
export function isTooWide(pattern: RulePattern): boolean {
  return pattern.kind === 'destination' && /^\.[^.]+$/.test(pattern.host);
}

/** What the rules are matched against: the names of one call's target, and the destinations that its command names. */
export interface RuleSubject {
  readonly tool: string;
  readonly tier: ActionTier;
  readonly names: readonly string[];
  readonly destinations: readonly Destination[];
}

/** The subject of a call whose targets have been resolved and judged: the canonical command, the real path. */
export function ruleSubject(tool: string, tier: ActionTier, targets: readonly Target[]): RuleSubject {
  return { tool, tier, names: namesOf(targets), destinations: targets.flatMap(destinationsOf) };
}

function namesOf(targets: readonly Target[]): readonly string[] {
  const node = targets.find((target) => target.kind === 'node' || target.kind === 'service');
  const command = targets.find((target) => target.kind === 'command');
  const path = targets.find((target) => target.kind === 'path');
  if (node === undefined) return [path?.real ?? path?.path ?? command?.text].filter((name) => name !== undefined);
  const hosts = [node.node, `${node.cluster}/${node.node}`];
  const things = node.kind === 'service' ? [node.service, node.service.replace(/\.service$/, '')] : [command?.text];
  return hosts.flatMap((host) => things.map((thing) => (thing === undefined ? host : `${host} ${thing}`)));
}

const urls = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s'"<>|;&()`]{1,2000}/gi;

/** LIMIT: only destinations that stand in the command as URLs; good enough to refuse one, never to allow one. */
function destinationsOf(target: Target): readonly Destination[] {
  const texts = target.kind === 'destination' ? [target.host] : target.kind === 'command' ? (target.text.match(urls) ?? []) : [];
  return texts
    .map(withoutUser)
    .map(parseDestination)
    .filter((destination) => destination !== undefined);
}

/** `https://user@host/` is a URL, but no plain destination. */
function withoutUser(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
}

/** The decisions of a call after the rules: a matching `block` or `prompt` comes on top, `allow` lifts what it may. Yellow calls only. */
export function settleByRules(decisions: readonly Decision[], subject: RuleSubject, rules: readonly LiveRule[]): readonly Decision[] {
  if (subject.tier !== 'yellow') return decisions;
  const matching = rules.filter((rule) => matchesRule(rule, subject));
  const first = strictestOf(matching);
  if (first === undefined) return decisions;
  const name = `auto-approve:${first.pattern.text}`;
  if (first.action === 'block')
    return [deny('blocked_by_rule', say`a person’s rule \`${first.pattern.text}\` refuses this`, [name]), ...decisions];
  if (first.action === 'prompt')
    return [ask('confirmation_required', say`a person’s rule \`${first.pattern.text}\` asks about this each time`, [name]), ...decisions];
  return lift(decisions, subject, matching);
}

function lift(decisions: readonly Decision[], subject: RuleSubject, rules: readonly LiveRule[]): readonly Decision[] {
  const lifting = rules.flatMap(({ pattern }) => (pattern.kind === 'tool' ? [pattern] : []));
  const lifted: Decision[] = [];
  const left: Decision[] = [];
  for (const decision of decisions) {
    const text = lifting.find((pattern) => mayLift(decision, pattern, subject))?.text;
    if (text === undefined) left.push(decision);
    else {
      const names = [`auto-approve:${text}`, ...decision.rules];
      lifted.push(allow('allowed_by_rule', say`a person’s rule \`${text}\` settles this in advance`, names));
    }
  }
  // The lifted first: among equals the first one names itself as what decided.
  return [...lifted, ...left];
}

/** Rules whose asks an exact rule lifts, by tool. Every rule behind the ask must be among them: one odd finding keeps the question. */
const liftedExactly: Readonly<Record<string, readonly string[]>> = {
  run_command: ['workspace.network', 'workspace.no-view'],
  edit_file: ['path.control-files'],
  write_file: ['path.control-files'],
};

function mayLift(decision: Decision, pattern: RulePattern, subject: RuleSubject): boolean {
  if (decision.effect !== 'ask' || decision.rules.length === 0) return false;
  if (decision.rules[0] === 'tier:yellow') return true;
  const liftable = (Object.hasOwn(liftedExactly, subject.tool) ? liftedExactly[subject.tool] : undefined) ?? [];
  return isExact(pattern) && decision.rules.every((rule) => liftable.includes(rule));
}

function isExact(pattern: RulePattern): boolean {
  return pattern.kind === 'tool' && pattern.glob !== undefined && !pattern.glob.includes('*');
}

function matchesRule({ pattern }: LiveRule, subject: RuleSubject): boolean {
  if (pattern.kind === 'destination') return subject.destinations.some((destination) => matchesDestination(pattern.host, destination));
  if (pattern.tool !== subject.tool) return false;
  const { glob } = pattern;
  return glob === undefined || subject.names.some((name) => fitsGlob(glob, name, subject.tool));
}

function strictestOf(rules: readonly LiveRule[]): LiveRule | undefined {
  return rules.toSorted((a, b) => autoApproveActions.indexOf(b.action) - autoApproveActions.indexOf(a.action))[0];
}

/** In a command, what `*` may stand for: no character that separates, quotes, expands or redirects. */
const plainInCommand = /^[A-Za-z0-9 _./:=@,+%-]$/;

/** Whether the whole of `text` fits the glob. Simulates all alternatives at once: linear in the text, whatever the pattern. */
function fitsGlob(glob: string, text: string, tool: string): boolean {
  const tokens = glob.match(/\*+|[^*]/gu) ?? [];
  const takes = starOf(tool);
  let states = withSkippedStars(new Set([0]), tokens);
  for (const char of text) {
    const next = [...states].flatMap((state) => after(state, tokens[state], char, takes) ?? []);
    if (next.length === 0) return false;
    states = withSkippedStars(new Set(next), tokens);
  }
  return states.has(tokens.length);
}

/** Where a token goes on with one more character; undefined: nowhere. */
function after(state: number, token: string | undefined, char: string, takes: ReturnType<typeof starOf>): number | undefined {
  if (token?.startsWith('*')) return takes(char, token.length > 1) ? state : undefined;
  return token === char ? state + 1 : undefined;
}

function starOf(tool: string): (char: string, double: boolean) => boolean {
  if (tool === 'write_file' || tool === 'edit_file') return (char, double) => double || char !== '/';
  return (char) => plainInCommand.test(char);
}

/** A star may stand for nothing. */
function withSkippedStars(states: Set<number>, tokens: readonly string[]): Set<number> {
  for (const state of states) if (tokens[state]?.startsWith('*')) states.add(state + 1);
  return states;
}

/** An agent's own fetch, which no sandbox holds: people's rules, the strictest of those that match; then the level's row for networks. */
export function decideFetch(host: string, rules: readonly LiveRule[], level: SecurityLevel): Decision {
  const destination = parseDestination(host);
  if (destination === undefined) return deny('invalid_destination', 'this is no plain host or URL', ['agent.destination']);
  const rule = strictestOf(rules.filter(({ pattern }) => pattern.kind === 'destination' && matchesDestination(pattern.host, destination)));
  const shown = `\`${formatDestination(destination)}\``;
  return rule === undefined ? unlisted(shown, level) : byRule(rule, shown);
}

function byRule({ pattern, action }: LiveRule, shown: string): Decision {
  const names = [`auto-approve:${pattern.text}`];
  if (action === 'block') return deny('destination_blocked', say`a person’s rule blocks ${shown}`, names);
  if (action === 'allow') return allow('destination_allowed', say`a person’s rule allows ${shown}`, names);
  return ask('network_blocked', say`a person’s rule asks about ${shown} each time`, names);
}

function unlisted(shown: string, level: SecurityLevel): Decision {
  const names = ['agent.destination', `level:${level}`];
  if (level === 'relaxed') return allow('network_allowed', say`security level relaxed lets ${shown}`, names);
  if (level === 'strict') return deny('network_blocked', say`nobody has listed ${shown}, and level strict refuses that`, names);
  return ask('network_blocked', say`nobody has listed ${shown}`, names);
}

// Whether a reported block needs a person's answer.

/** What was found in the traffic itself: no list of destinations settles that. */
const foundInContent: ReadonlySet<BlockReason> = new Set(['credential_detected', 'malware_domain', 'file_infected']);

/**
 * People's rules first, the strictest of those that match; then the domains that approvals go through (docs/design.md#requests-and-grants). An `allow` settles
 * only a block of the destination as such. INVARIANT: nothing is granted by it; it says whether a person is bothered.
 */
export function decideReport(reason: BlockReason, destination: Destination, rules: readonly LiveRule[]): Decision {
  const rule = strictestOf(rules.filter(({ pattern }) => pattern.kind === 'destination' && matchesDestination(pattern.host, destination)));
  const name = rule === undefined ? [] : [`auto-approve:${rule.pattern.text}`];
  if (rule?.action === 'block') return deny('destination_blocked', 'a person’s rule blocks this destination', name);
  if (rule?.action === 'prompt') return ask(reason, say`a person’s rule asks about this destination each time`, name);
  if (foundInContent.has(reason)) return ask(reason, say`what was found there is for a person to judge`, [`reason:${reason}`]);
  if (rule?.action === 'allow') return allow('destination_allowed', 'a person’s rule allows this destination', name);
  const domain = defaultApprovalDomains.find((pattern) => matchesDestination(pattern, destination));
  if (domain !== undefined) return allow('destination_allowed', 'approvals are sent through this domain', [`approval-domain:${domain}`]);
  return ask(reason, say`nobody has listed this destination`, ['default']);
}
