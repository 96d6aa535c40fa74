/** What the status bar says. */
import type { App, EffectiveLevel } from '#kernel/app';
import type { Pause } from '#kernel/approval/security';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import { showPlainly } from '#kernel/text/text';
import type { StateName } from './approvals-view/pending-feed.ts';
import { saidWords } from './fault-words.ts';
import { t } from './l10n.ts';
import { escapeMarkdown } from './markdown.ts';

export interface StatusFacts {
  readonly state: StateName;
  readonly pending: number;
  /** undefined while there is no App. */
  readonly app?: Pick<App, 'securityLevel' | 'sandboxState' | 'storeLocation' | 'config' | 'isAway'> | undefined;
  /** The level that counts; undefined while it is not known: then the configuration's is shown. */
  readonly level?: EffectiveLevel | undefined;
  /** Editor settings that switch its own confirmations off. */
  readonly bypasses: readonly string[];
  /** What somebody seems to have done to approvals, pins or configuration. */
  readonly alarms: readonly string[];
}

export interface StatusText {
  /** With codicons. */
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly spoken: string;
  readonly attention: 'none' | 'warning' | 'error';
}

/** Shape and, where something is missing, words: an open lock alone is easily overlooked. */
const sandboxMarks: Record<SandboxStatus['state'], string> = {
  enforced: ' $(lock)',
  degraded: ` $(unlock) ${t('degraded sandbox')}`,
  unavailable: ` $(unlock) ${t('no sandbox')}`,
};

const sandboxWords: Record<SandboxStatus['state'], string> = {
  enforced: t('enforced'),
  degraded: t('degraded'),
  unavailable: t('unavailable'),
};

export function statusText(facts: StatusFacts): StatusText {
  if (facts.state === 'bad_config' || facts.state === 'failed') return problemText(facts, facts.state);
  if (facts.app?.isAway === true) return awayText(facts);
  if (facts.app) return readyText(facts, facts.app);
  return { text: '$(loading~spin) Banksman', tooltip: t('Banksman is starting'), spoken: t('Banksman is starting'), attention: 'none' };
}

function problemText(facts: StatusFacts, state: 'bad_config' | 'failed'): StatusText {
  const spoken = state === 'bad_config' ? t('Banksman: the settings have an error') : t('Banksman could not start');
  return { text: `$(error) Banksman${bypassMark(facts)}`, tooltip: tooltip(facts, spoken), spoken, attention: 'error' };
}

/** No level, no count: they are the service's, and what was shown last may be so no longer. */
function awayText(facts: StatusFacts): StatusText {
  const spoken = t('Banksman: the service does not answer');
  const said = tooltip({ ...facts, app: undefined }, `${spoken}. ${t('Nothing runs instead; this window connects again by itself')}`);
  return { text: `$(debug-disconnect) ${t('Banksman: no service')}${bypassMark(facts)}`, tooltip: said, spoken, attention: 'error' };
}

function readyText(facts: StatusFacts, app: NonNullable<StatusFacts['app']>): StatusText {
  const level = facts.level?.level ?? app.securityLevel;
  const sandbox = app.sandboxState().state;
  const pending = pendingWords(facts.pending);
  const waiting = facts.pending === 0 ? '' : ` $(bell-dot) ${facts.pending}`;
  const bypass = facts.bypasses.length > 0 ? t('editor confirmations are bypassed') : '';
  const { length } = facts.alarms;
  const alarms = alarmWords(length);
  return {
    text: `$(shield) Banksman: ${level}${waiting}${sandboxMarks[sandbox]}${bypassMark(facts)}${alarms === '' ? '' : ` $(alert) ${alarms}`}`,
    tooltip: tooltip(facts, pending),
    spoken: `Banksman: ${[facts.level?.paused === undefined ? '' : t('agents paused'), t('security level {0}', level), pending, t('sandbox {0}', sandboxWords[sandbox]), bypass, alarms].filter((part) => part !== '').join(', ')}`,
    attention: length > 0 ? 'error' : facts.pending > 0 ? 'warning' : 'none',
  };
}

function alarmWords(count: number): string {
  if (count === 0) return '';
  return count === 1 ? t('1 alarm') : t('{0} alarms', count);
}

function bypassMark({ bypasses }: StatusFacts): string {
  return bypasses.length > 0 ? ' $(warning)' : '';
}

function pendingWords(count: number): string {
  if (count === 0) return t('no pending approvals');
  return count === 1 ? t('1 pending approval') : t('{0} pending approvals', count);
}

function levelWords({ level }: StatusFacts, app: Pick<App, 'securityLevel'>): string {
  if (!level) return app.securityLevel;
  const from = level.from === 'store' ? ` (${t('set by {0}', escapeMarkdown(level.by ?? t('somebody unknown')))})` : '';
  return `${level.level}${from}${level.warning === undefined ? '' : `; $(warning) ${escapeMarkdown(level.warning)}`}`;
}

/** Plain text. */
export function pauseText({ by, at, reason, warning }: Pause): string {
  const who = showPlainly(by, 100);
  const paused = at === 0 ? t('Paused by {0}', who) : t('Paused by {0} since {1}', who, new Date(at).toLocaleString());
  const told = [reason, warning].filter((one) => one !== undefined).map((one) => `: ${showPlainly(one, 300)}`);
  return `${paused}${told.join('')}. ${t('Select to resume them.')}`;
}

/** The one state of all agents of the store; its tooltip is plain text. */
export function agentsText(paused: Pause | undefined, pending: number): Omit<StatusText, 'attention'> {
  if (paused !== undefined) {
    const words = t('Agents: paused');
    const since = pauseText(paused);
    return { text: `$(debug-pause) ${words}`, tooltip: since, spoken: `${words}. ${since}` };
  }
  const words = pending === 0 ? t('Agents: running') : t('Agents: {0} waiting', pending);
  const waiting = pending === 1 ? t('1 request waits for a person. ') : pending > 1 ? t('{0} requests wait for a person. ', pending) : '';
  const click = `${waiting}${t('Select to pause all agents: in every window and process they change nothing more, until a person resumes them.')}`;
  return { text: `$(${pending === 0 ? 'play' : 'watch'}) ${words}`, tooltip: click, spoken: `${words}. ${click}` };
}

export function unusedWords(keys: readonly string[]): string {
  const named = keys.map((key) => `banksman.${key}`).join(', ');
  return keys.length === 1
    ? t('{0} counts for nothing here: the service has its own', named)
    : t('{0} count for nothing here: the service has its own', named);
}

function tooltip(facts: StatusFacts, headline: string): string {
  const { app } = facts;
  const rows = app
    ? [
        ...(facts.level?.paused === undefined
          ? []
          : [`| ${t('Agents')} | $(debug-pause) ${escapeMarkdown(pauseText(facts.level.paused))} |`]),
        `| ${t('Level')} | ${levelWords(facts, app)} |`,
        `| ${t('Approvals')} | ${pendingWords(facts.pending)} |`,
        `| Sandbox | ${sandboxWords[app.sandboxState().state]}: ${escapeMarkdown(saidWords(app.sandboxState().reason))} |`,
        `| ${t('Store')} | ${escapeMarkdown(app.storeLocation)} |`,
        ...(app.config.answersAt === undefined ? [] : [`| ${t('Answers')} | ${escapeMarkdown(app.config.answersAt)} |`]),
        ...(app.config.unused === undefined ? [] : [`| ${t('Settings')} | ${escapeMarkdown(unusedWords(app.config.unused))} |`]),
      ]
    : [];
  const table = rows.length === 0 ? '' : ['| | |', '|:--|:--|', ...rows].join('\n');
  const bypass =
    facts.bypasses.length === 0
      ? ''
      : `$(warning) ${t("The editor's own confirmations are bypassed ({0}). Banksman still asks in its own dialog.", facts.bypasses.map(escapeMarkdown).join(', '))}`;
  const alarms = facts.alarms.map((alarm) => `$(alert) ${escapeMarkdown(alarm)}`).join('\n\n');
  return [app ? '**Banksman**' : `**${headline}**`, alarms, table, bypass, t('Select to show the pending approvals.')]
    .filter((part) => part !== '')
    .join('\n\n');
}
