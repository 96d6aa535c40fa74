/** Commands in the workspace: run, undone, and what they changed that was held. */
import * as z from 'zod';
import type { applyHeldTool, RunBegun, RunEffects, RunHistory, RunRecord } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { type KnownEffect, notSent } from '#kernel/known-effect';
import type { CommandRequest, CommandResult } from '#kernel/ports/command-runner';
import type { CommandResource, HeldResource, Target } from '#kernel/resource';
import { joined, type Message, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool, type Obstacle, type ToolContext } from '#kernel/tool';
import { adviceOnLeftOut, askForHeld, changeCounts, changesOf, effectsWords, leftNothing, namedPaths } from '../support/changes.ts';

/** Bytes: the kernel takes 128 KiB for one argument (`execve(2)`). Files are written with heredocs. */
const longestCommand = 120_000;

/** What the command's own limit leaves for starting, ending and reporting it, in ms. */
const marginMs = 10_000;

export const runCommand = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run bash (several lines, here-documents too) in the workspace, in a sandbox without network where only the workspace can be written. What it changed there is looked at before it counts. `/tmp` is empty at each start and is not the one of write_file. There is no network but loopback: a command that needs more fails, and with `network: true` a person is asked first. Returns stdout, stderr, the exit code and the changes, long output without its middle. Nothing can be typed into it. Prefer read_file, list_directory and search_files to look at files; on cluster nodes use execute_ssh.',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'system:execute:readonly',
  outsideText: ['stdout', 'stderr'],
  limitMs: ({ timeout_ms: timeoutMs }) => timeoutMs + marginMs,
  input: z.strictObject({
    // Not sanitized: what a person or the policy sees must be what runs, so anything hidden in it is refused instead.
    command: z
      .string()
      .min(1)
      .max(longestCommand)
      .refine((text) => Buffer.byteLength(text) <= longestCommand, `must have at most ${longestCommand} bytes`)
      .meta({ description: 'For example `npm test`. At most 120,000 bytes; larger texts go by write_file.' }),
    timeout_ms: z
      .number()
      .int()
      .min(100)
      .max(600_000)
      .default(30_000)
      .meta({ description: 'When to end the command, in ms; at most 600000.' }),
    network: z.boolean().optional().meta({
      description:
        'Run it with the network. Unless the level is relaxed a person is asked first, or it is refused: leave it out until the command failed for want of it.',
    }),
  }),
  // SECURITY: who may only look gets the surface that only looks: what such a run changes is dropped.
  touches: ({ command, network }, caller) => [
    {
      kind: 'command',
      access: 'operate',
      surface: caller?.holds('system:execute') ? 'workspace_command' : 'readonly_bash',
      text: command,
      ...(network === true ? { network } : {}),
    },
  ],
  headline: (input, targets) => {
    const { text = input.command, network } = commandOf(targets) ?? {};
    const command = JSON.stringify(text);
    return network === true ? say`Run ${command} in the workspace with the network` : say`Run ${command} in the workspace`;
  },
  preview: async (_input, context) => sandboxFacts(context),
  run: async (input, context) => {
    const timeoutMs = input.timeout_ms;
    const request: CommandRequest = { ...checkedCommand(context), timeoutMs, agentId: context.agent.id };
    const { runner } = context.workspace();
    const { view } = await runner.status().catch(notStarted);
    const untilApplied = endedEffect(view?.judged === true);
    context.noteEffect(untilApplied);
    const onApply = (begun: RunBegun) => context.noteEffect(applyingEffect(begun) ?? untilApplied, askForHeld(begun).asks);
    const ended = await runner.run(request, context.signal, (chunk) => context.progress(chunk), onApply).catch(notStarted);
    const result = resultOf(ended);
    const tried = triesInWords(ended.networkTries);
    const end = endOf(ended, timeoutMs) ?? notAppliedEnd(ended.effects);
    const said = `${tried}${ended.effects === undefined ? '' : effectsWords(ended.effects)}${loweredWords(ended, context)}`;
    const asks = ended.effects === undefined ? {} : askForHeld(ended.effects);
    const advice = ended.effects === undefined ? [] : adviceOnLeftOut(ended.effects);
    if (end === undefined) return { ok: true, message: `the command ended with exit code 0${said}`, result, ...nextOf(...advice), ...asks };
    return {
      ok: false,
      code: end.code,
      message: `the command ${end.message}${said}`,
      result,
      ...nextOf(end.next, ...advice),
      ...asks,
    };
  },
});

/** Of a call that is ended while its command runs, or waits for its changes to be applied. */
function endedEffect(isJudged: boolean): KnownEffect {
  const what = 'the command was ended, with all that it had started';
  if (isJudged) return { state: 'sent', what: `${what}, and nothing that it changed in the workspace was applied`, next: 'run it again' };
  return { state: 'sent', what: `${what}; what it did until then stays done`, next: 'look at what it changed before running it again' };
}

/** Of a call that is ended while its changes are applied; undefined where there are none to apply. */
function applyingEffect({ runId }: RunBegun): KnownEffect | undefined {
  if (runId === undefined) return undefined;
  const what = `the command had ended, and what it changed was just being applied as run \`${runId}\``;
  return {
    state: 'sent',
    what,
    next: 'look at the files; `undo_run` takes them back, and knows no such run where it was not applied',
    runId,
  };
}

/** The command did not run. */
const notRun = /^(?:sandbox_.*|disk_full|workspace_not_seen)$/;

function notStarted(thrown: unknown): never {
  const known = thrown instanceof Fault && notRun.test(thrown.code) && thrown.effect === undefined;
  throw known ? thrown.with({ effect: notSent }) : thrown;
}

function commandOf(targets: ToolContext['targets']): CommandResource | undefined {
  return targets.find((target): target is CommandResource => target.kind === 'command');
}

function checkedCommand({ targets }: ToolContext): Omit<CommandRequest, 'timeoutMs' | 'agentId'> {
  const command = commandOf(targets);
  if (command === undefined || (command.surface !== 'readonly_bash' && command.surface !== 'workspace_command')) {
    throw new Fault('internal_error', 'internal error: the command was not checked', { audience: 'bug' });
  }
  const { text, surface, network, unsandboxed } = command;
  return { command: text, surface, network: network === true, ...(unsandboxed === true ? { allowUnsandboxed: true } : {}) };
}

/** undefined where it ended well. */
function endOf(
  { timedOut, stoppedBy, exitCode, signal, networkTries, needsNetwork }: CommandResult,
  timeoutMs: number,
): Obstacle | undefined {
  const tried = adviceOnNetwork(networkTries, needsNetwork === true);
  if (timedOut)
    return {
      code: 'command_timeout',
      message: `was ended after ${timeoutMs} ms, with all that it had started; what it did until then stays done`,
      next: ['pass a larger timeout_ms, or run less at once', tried].filter((advice) => advice !== '').join('; '),
    };
  if (stoppedBy !== undefined)
    return { code: 'command_limit', message: `was ended: it went over the limit for ${stoppedBy}`, next: 'run less at once' };
  if (exitCode === 0) return undefined;
  return {
    code: needsNetwork === true ? 'network_needed' : 'command_failed',
    message: `ended with ${exitCode === undefined ? `signal ${signal ?? 'unknown'}` : `exit code ${exitCode}`}`,
    ...(tried === '' ? {} : { next: tried }),
  };
}

/** It ended well, and nothing is as it left it. */
function notAppliedEnd(effects: RunEffects | undefined): Obstacle | undefined {
  if (effects === undefined || !leftNothing(effects)) return undefined;
  const but = effects.nothingApplied === undefined ? ', but nothing that it changed was kept' : '';
  return { code: 'not_applied', message: `ended with exit code 0${but}` };
}

function nextOf(...parts: readonly (string | undefined)[]): { readonly next?: string } {
  const next = parts.filter((part) => part !== undefined).join('; ');
  return next === '' ? {} : { next };
}

function adviceOnNetwork(tries: number, isSure: boolean): string {
  const how = 'with `network: true`, for which a person is asked, or do without';
  if (isSure) return `it failed for want of the network: repeat it ${how}`;
  return tries === 0 ? '' : `if it failed for want of the network, repeat it ${how}`;
}

/** Why it may only look, where its model may do more. */
function loweredWords({ effects }: CommandResult, { agent: { classifiedTier } }: ToolContext): string {
  if (effects?.dropped !== true || classifiedTier === undefined) return '';
  return `; this agent's model tier is lowered from ${classifiedTier} by repeated errors, and comes back with calls that succeed`;
}

function triesInWords(tries: number): string {
  if (tries === 0) return '';
  return `; ${tries === 1 ? '1 try' : `${tries} tries`} to reach the network failed`;
}

async function sandboxFacts(context: ToolContext): Promise<readonly Message[]> {
  const { state, reason } = await context.workspace().runner.status();
  if (state !== 'enforced') return [say`The sandbox is ${state}: ${reason}.`];
  const network = say`It has the network: it can send what it reads in the workspace anywhere, this machine’s own servers included.`;
  return [
    say`It runs in the sandbox: only the workspace can be written.`,
    ...(commandOf(context.targets)?.network === true ? [network] : []),
  ];
}

function resultOf(ended: CommandResult): JsonObject {
  const { stdout, stderr, exitCode, signal, truncated, sandbox, planted, scanIncomplete } = ended;
  return {
    stdout,
    stderr,
    exit_code: exitCode ?? null,
    ...(signal === undefined ? {} : { signal }),
    ...(truncated ? { truncated } : {}),
    sandbox,
    ...(planted.length === 0 ? {} : { left_behind: planted }),
    ...(scanIncomplete ? { left_behind_incomplete: true } : {}),
    ...(ended.effects === undefined ? {} : { changes: changesOf(ended.effects) }),
  };
}

export const undoRun = defineTool({
  name: 'undo_run',
  title: 'Undo a run',
  description:
    'Take back what one of your own earlier calls changed in the workspace, byte for byte. The `run_id` is in its answer, of a command in `changes`. Refused where a file was changed since; what such a run sent over a network, or started elsewhere, is not taken back.',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'system:execute:readonly',
  input: z.strictObject({
    run_id: z
      .string()
      .regex(/^[a-z0-9-]{1,60}$/, 'must be the `run_id` of an answer')
      .meta({ description: 'The `run_id` of an earlier answer.' }),
  }),
  touches: () => [],
  headline: ({ run_id: id }) => say`Undo run ${id} in the workspace`,
  preview: async ({ run_id: id }, context) => {
    const { record } = await ownRun(id, context);
    return [
      say`It was: ${showPlainly(record.title, 200)}`,
      say`It takes back what it did: ${changeCounts(record)}.`,
      say`Undoing it is not undone again.`,
    ];
  },
  run: async ({ run_id: id }, context) => {
    const { record, history } = await ownRun(id, context);
    context.noteEffect({
      state: 'sent',
      what: 'the run was taken back, or will be by the next start',
      next: 'look at the files before going on',
    });
    const { signal } = context;
    const undone = await history.undo(id, { force: false, signal }).catch((thrown: unknown) => {
      throw thrown instanceof Fault && thrown === signal.reason ? thrown.with({ effect: notSent }) : inTheWay(thrown);
    });
    return {
      ok: true,
      message: `undone: ${changeCounts(undone)}, by \`${showPlainly(record.title, 100)}\``,
      result: { undone: id, ...namedPaths(undone) },
    };
  },
});

async function ownRun(id: string, context: ToolContext): Promise<{ readonly record: RunRecord; readonly history: RunHistory }> {
  const history = await context.workspace().runner.history?.();
  const record = (await history?.list())?.find((run) => run.id === id && run.agentId === context.agent.id);
  // SECURITY: of other agents' runs not even that they are there.
  if (history === undefined || record === undefined)
    throw refusal(
      'no_such_run',
      say`you have no run \`${id}\` that is kept`,
      say`use the \`run_id\` of an answer of yours; old runs are not kept`,
    );
  if (record.state === 'held')
    throw refusal('not_undoable', say`these changes are held: nothing of them was applied`, say`deny or leave their request`);
  return { record, history };
}

function refusal(code: string, message: Message, next: Message): Fault {
  return new Fault(code, message, { next, effect: notSent });
}

/** Setting aside what is there now is for people. */
function inTheWay(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || !['undo_in_the_way', 'not_undoable', 'no_such_run'].includes(thrown.code)) return thrown;
  const next =
    'undo your later runs first; where somebody else changed it, ask the user, who can set it aside: `banksman runs undo ID --set-aside`';
  return thrown.with({ effect: notSent, ...(thrown.code === 'undo_in_the_way' ? { next } : {}) });
}

export const applyHeld = defineTool({
  name: 'apply_held' satisfies typeof applyHeldTool,
  title: 'Apply held changes',
  description: 'Applies changes that were held for a person, once that person has approved them.',
  group: 'workspace',
  tier: 'red',
  impact: 'reversible',
  // Whoever could make the changes may have them applied: a person decides.
  permission: 'data:read',
  internal: true,
  impactOf: (targets) => (heldOf(targets)?.lost === true ? 'irreversible' : 'reversible'),
  input: z.strictObject({ held: z.string().regex(/^[a-z0-9-]{1,60}$/) }),
  touches: ({ held }) => [{ kind: 'held', access: 'operate', id: held }],
  headline: ({ held }, targets) => {
    const { changes = [], more = 0 } = heldOf(targets) ?? {};
    const named = changes.slice(0, 3).map(({ path }) => showPlainly(path, 80));
    const others = changes.length - named.length + more;
    if (changes.length === 0) return say`Apply the held changes ${held}`;
    const all = changes.length + more;
    const names = others > 0 ? say`${joined(named)} and ${others} more` : joined(named);
    return plural(all, say`Apply 1 held change: ${names}`, say`Apply ${all} held changes: ${names}`);
  },
  preview: async (_input, { targets }) =>
    heldOf(targets)?.lost === true
      ? [say`More goes than the journal keeps, so it cannot be undone.`]
      : [say`Exactly these changes are applied, all or none.`],
  run: async (_input, context) => {
    const held = heldOf(context.targets);
    const history = await context.workspace().runner.history?.();
    if (held?.digest === undefined || history === undefined)
      throw new Fault('held_gone', 'what was held is no longer kept', { audience: 'user', effect: notSent });
    context.noteEffect({ state: 'sent', what: 'all of the held changes were applied, or none', next: 'look whether they are there' });
    const effects = await history.applyHeld(held.id, held.digest);
    return { ok: true, message: 'the held changes were applied', result: { changes: changesOf(effects) } };
  },
});

function heldOf(targets: readonly Target[]): HeldResource | undefined {
  return targets.find((target): target is HeldResource => target.kind === 'held');
}
