import * as z from 'zod';
import type { RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { CommandRequest, CommandResult } from '#kernel/ports/command-runner';
import type { CommandResource } from '#kernel/resource';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type ToolContext } from '#kernel/tool';
import { adviceOnLeftOut, askForHeld, changesOf, effectsWords, leftNothing } from '../support/changes.ts';

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
    context.noteEffect({
      state: 'sent',
      what: 'the command was ended, with all that it had started; what it did until then stays done',
      next: 'look at what it changed before running it again',
    });
    const ended = await context
      .workspace()
      .runner.run(request, context.signal, (chunk) => context.progress(chunk))
      .catch(notStarted);
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

interface End {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
}

/** undefined where it ended well. */
function endOf({ timedOut, stoppedBy, exitCode, signal, networkTries, needsNetwork }: CommandResult, timeoutMs: number): End | undefined {
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
function notAppliedEnd(effects: RunEffects | undefined): End | undefined {
  return effects !== undefined && leftNothing(effects) ? { code: 'not_applied', message: 'ended with exit code 0' } : undefined;
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
