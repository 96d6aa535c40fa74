/**
 * `policy check`: the command and path policies on their own, judged as level `balanced`, in an enforced sandbox, over a view unless it
 * is told otherwise, with no agent, model tier or auto-approve rules (docs/design.md#state-and-configuration).
 */

import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { type Decision, deny } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import type { ViewStatus } from '#kernel/ports/command-runner';
import { foundWords, issueWords } from '#kernel/text/issue-words';
import { say } from '#kernel/text/message';
import { decideCommand } from '#policy/effects/decide-command';
import { decidePath, type WorkspaceView } from '#policy/paths/decide-path';
import { decideSshCommand } from '#policy/ssh/decide-ssh-command';
import type { UserRule } from '#policy/user-rules';
import { tooWideForWorkspace } from '../config/paths.ts';

/** One line of input; other keys are ignored. */
const policyCaseSchema = z.object({
  id: z.string(),
  surface: z.enum(['ssh', 'readonly_bash', 'workspace_command', 'path']),
  input: z.string(),
  op: z.enum(['read', 'write', 'list']).default('read'),
  platform: z.enum(['linux', 'darwin', 'posix', 'win32']).default('posix'),
});
type PolicyCase = z.output<typeof policyCaseSchema>;

interface CheckGround {
  readonly userRules?: readonly UserRule[] | undefined;
  /** undefined: the sandbox does not hold, so there is none. */
  readonly view: ViewStatus | undefined;
}

export interface PolicyCheck {
  /**
   * Decides one parsed JSON value.
   * @throws {Fault} `bad_input` when it is no case
   */
  decide(raw: unknown): { readonly id: string; readonly decision: Decision };
}

/**
 * `root` is the workspace.
 * @param ground the person's own rules; and the view that commands run over there
 * @throws {Fault} `bad_root` when `root` is no directory
 */
export function createPolicyCheck(root: string, { userRules = [], view: runsOver }: CheckGround): PolicyCheck {
  const given = path.resolve(root);
  const real = realRoot(given);
  const view = viewOf(given, real);
  const wide = tooWideForWorkspace(real);
  return {
    decide: (raw) => {
      const parsed = policyCaseSchema.safeParse(raw, { error: issueWords });
      if (!parsed.success) throw badInput(parsed.error, raw);
      return { id: parsed.data.id, decision: decideCase(parsed.data, view) };
    },
  };

  function decideCase({ surface, input, op, platform }: PolicyCase, workspace: WorkspaceView): Decision {
    if (surface === 'ssh') return decideSshCommand(input, userRules).decision;
    // As a call there would be answered.
    if (wide !== undefined) return deny('workspace_too_wide', `${wide}; name a folder below it with \`--root\``, ['workspace:none']);
    switch (surface) {
      case 'readonly_bash':
      case 'workspace_command':
        return decideCommand({ kind: 'command', access: 'operate', surface, text: input }, { userRules, view: runsOver });
      case 'path':
        return decidePath(input, op, { ...workspace, ground: { ...workspace.ground, platform: platform === 'win32' ? 'win32' : 'posix' } });
    }
  }
}

/** The root by its real name and as it was given: both mean the workspace in a path. */
function viewOf(given: string, real: string): WorkspaceView {
  return { ground: { roots: [...new Set([real, given])], platform: 'posix' }, facts: createPathFacts(real) };
}

function realRoot(root: string): string {
  try {
    const real = realpathSync(root);
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw new Fault('bad_root', say`\`${root}\` is no directory that can be read`, {
      audience: 'user',
      next: 'name the workspace with `--root`',
      cause,
    });
  }
  throw new Fault('bad_root', say`\`${root}\` is no directory`, { audience: 'user', next: 'name the workspace with `--root`' });
}

function badInput(error: z.ZodError, raw: unknown): Fault {
  const [issue] = error.issues;
  return new Fault(
    'bad_input',
    say`\`${issue?.path.join('.') || 'line'}\`: ${issue?.message ?? 'not a case'}${foundWords(raw, issue?.path ?? [])}`,
    {
      audience: 'user',
      next: 'each line is {"id","surface","input"} with "op" and "platform" where they apply',
    },
  );
}
