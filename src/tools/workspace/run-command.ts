import * as z from 'zod';
import type { RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { CommandRequest, CommandResult } from '#kernel/ports/command-runner';
import type { CommandResource } from '#kernel/resource';
import { showPlainly } from '#kernel/text';
import { defineTool, type ToolContext } from '#kernel/tool';

/** What the command's own limit leaves for starting, ending and reporting it, in ms. */
const marginMs = 10_000;

export const runCommand = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run one shell command line in the workspace directory, inside a sandbox: the workspace can be written, the network and everything else cannot; `/tmp` is empty at each start and is not the one of write_file. Returns stdout, stderr and the exit code, long output without its middle. Interactive programs, servers and privilege escalation are refused. To look at files prefer read_file, list_directory and search_files; for cluster nodes use execute_ssh.',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'system:execute:readonly',
  timeoutMs: 60_000,
  outsideText: ['stdout', 'stderr'],
  limitMs: ({ timeout_ms: timeoutMs }) => timeoutMs + marginMs,
  input: z.strictObject({
    // Not sanitized: what a person or the policy sees must be what runs, so anything hidden in it is refused instead.
    command: z.string().min(1).max(10_000).meta({ description: 'One command line, for example `npm test`.' }),
    timeout_ms: z
      .number()
      .int()
      .min(100)
      .max(600_000)
      .default(30_000)
      .meta({ description: 'When to end the command, in ms; default 30000, at most 600000.' }),
  }),
  // SECURITY: who may only look gets the surface that only looks; the policy decides by it, and what runs is its canonical text.
  touches: ({ command }, caller) => [
    { kind: 'command', access: 'operate', surface: caller?.holds('system:execute') ? 'workspace_command' : 'readonly_bash', text: command },
  ],
  headline: (input, targets) => `Run ${JSON.stringify(commandOf(targets)?.text ?? input.command)} in the workspace`,
  preview: async (_input, context) => sandboxFacts(context),
  run: async ({ timeout_ms: timeoutMs }, context) => {
    const request: CommandRequest = { ...checkedCommand(context), timeoutMs, agentId: context.agent.id };
    context.noteEffect({
      state: 'sent',
      what: 'the command was ended, with all that it had started; what it did until then stays done',
      next: 'look at what it changed before running it again',
    });
    const ended = await context
      .workspace()
      .runner.run(request, context.signal, (chunk) => context.progress(chunk))
      .catch(notStarted);
    const result = resultOf(request.command, ended);
    const end = endOf(ended, timeoutMs);
    const said = ended.effects === undefined ? '' : effectsWords(ended.effects);
    if (end === undefined) return { ok: true, message: `\`${request.command}\` ended with exit code 0${said}`, result };
    return {
      ok: false,
      code: end.code,
      message: `\`${request.command}\` ${end.message}${said}`,
      result,
      ...(end.next === undefined ? {} : { next: end.next }),
    };
  },
});

/** Where the sandbox fails or is missing, the command did not run. */
function notStarted(thrown: unknown): never {
  const known = thrown instanceof Fault && thrown.code.startsWith('sandbox_') && thrown.effect === undefined;
  throw known ? thrown.with({ effect: notSent }) : thrown;
}

function commandOf(targets: ToolContext['targets']): CommandResource | undefined {
  return targets.find((target): target is CommandResource => target.kind === 'command');
}

function checkedCommand({ targets }: ToolContext): Omit<CommandRequest, 'timeoutMs' | 'agentId'> {
  const command = commandOf(targets);
  if (command === undefined || command.surface === 'ssh') {
    throw new Fault('internal_error', 'internal error: the command was not checked', { audience: 'bug' });
  }
  const { text, surface, network, unsandboxed } = command;
  return { command: text, surface, network: network === true, ...(unsandboxed === true ? { allowUnsandboxed: true } : {}) };
}

interface End {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
}

/** undefined where it ended well. */
function endOf({ timedOut, stoppedBy, exitCode, signal }: CommandResult, timeoutMs: number): End | undefined {
  if (timedOut)
    return {
      code: 'command_timeout',
      message: `was ended after ${timeoutMs} ms, with all that it had started; what it did until then stays done`,
      next: 'pass a larger timeout_ms, or run less at once',
    };
  if (stoppedBy !== undefined)
    return { code: 'command_limit', message: `was ended: it went over the limit for ${stoppedBy}`, next: 'run less at once' };
  if (exitCode === 0) return undefined;
  return {
    code: 'command_failed',
    message: `ended with ${exitCode === undefined ? `signal ${signal ?? 'unknown'}` : `exit code ${exitCode}`}`,
  };
}

async function sandboxFacts(context: ToolContext): Promise<readonly string[]> {
  const { state, reason } = await context.workspace().runner.status();
  return state === 'enforced' ? ['It runs in the sandbox: only the workspace can be written.'] : [`The sandbox is ${state}: ${reason}.`];
}

function resultOf(command: string, ended: CommandResult): JsonObject {
  const { stdout, stderr, exitCode, signal, truncated, sandbox, planted, scanIncomplete } = ended;
  return {
    command,
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

const mostNamed = 40;

function changesOf({ runId, dropped, leftOut, nothingApplied, ...lists }: RunEffects): JsonObject {
  const list = (name: string, paths: readonly string[]): JsonObject => ({
    ...(paths.length === 0 ? {} : { [name]: paths.slice(0, mostNamed).map((path) => showPlainly(path)) }),
    ...(paths.length > mostNamed ? { [`${name}_left_out`]: paths.length - mostNamed } : {}),
  });
  const out = leftOut.map(({ path, reason, why }) => `${showPlainly(path)} (${reason}: ${showPlainly(why)})`);
  return {
    ...(runId === undefined ? {} : { run_id: runId }),
    ...list('created', lists.created),
    ...list('changed', lists.changed),
    ...list('deleted', lists.deleted),
    ...list('not_applied', out),
    ...(dropped ? { dropped } : {}),
    ...(nothingApplied === undefined ? {} : { nothing_applied: nothingApplied }),
  };
}

function effectsWords({ created, changed, deleted, leftOut, dropped, nothingApplied }: RunEffects): string {
  const parts = [
    ['created', created.length],
    ['changed', changed.length],
    ['deleted', deleted.length],
  ].flatMap(([word, count]) => (count === 0 ? [] : [`${count} ${word}`]));
  if (nothingApplied !== undefined) return `; ${nothingApplied}`;
  const done = parts.length === 0 ? '' : `; ${dropped ? 'it may only look, so dropped: ' : ''}${parts.join(', ')}`;
  const [first] = leftOut;
  if (first === undefined) return done;
  const more = leftOut.length === 1 ? '' : ` and ${leftOut.length - 1} more, see \`not_applied\``;
  return `${done}; not applied: \`${showPlainly(first.path)}\` (${showPlainly(first.why)})${more}`;
}
