/**
 * `policy check`: the command and path policies on their own, judged as level `balanced`, with no agent, model tier, sandbox state or
 * auto-approve rules (docs/design.md#state-and-configuration).
 */
import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { type Decision, deny } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import { foundWords } from '#kernel/found-words';
import { issueWords } from '#kernel/issue-words';
import { decideReadonlyCommand } from '#policy/commands/decide-readonly-command';
import type { UserRule } from '#policy/commands/user-rule';
import { decideWorkspaceCommand } from '#policy/commands/workspace/decide-workspace-command';
import { loadShellParser } from '#policy/commands/workspace/shell-parser';
import { decidePath } from '#policy/paths/decide-path';
import type { WorkspaceView } from '#policy/paths/workspace-view';
import { decideSshCommand } from '#policy/ssh/decide-ssh-command';
import { tooWideForWorkspace } from './paths.ts';
import { shellGrammar } from './shell-grammar.ts';

/** One line of input; other keys are ignored. */
const policyCaseSchema = z.object({
  id: z.string(),
  surface: z.enum(['ssh', 'readonly_bash', 'workspace_command', 'path']),
  input: z.string(),
  op: z.enum(['read', 'write', 'list']).default('read'),
  platform: z.enum(['linux', 'darwin', 'posix', 'win32']).default('posix'),
});
type PolicyCase = z.output<typeof policyCaseSchema>;

export interface PolicyCheck {
  /**
   * Decides one parsed JSON value.
   * @throws {Fault} `bad_input` when it is no case
   */
  decide(raw: unknown): { readonly id: string; readonly decision: Decision };
}

/**
 * Loads what the surfaces need; `root` is the workspace.
 * @throws {Fault} `bad_root` when `root` is no directory
 */
export async function createPolicyCheck(root: string, userRules: readonly UserRule[] = []): Promise<PolicyCheck> {
  const given = path.resolve(root);
  const real = realRoot(given);
  const view = viewOf(given, real);
  const wide = tooWideForWorkspace(real);
  const parser = await loadShellParser(shellGrammar());
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
        return decideReadonlyCommand(input, workspace, userRules).decision;
      case 'workspace_command':
        return decideWorkspaceCommand(input, { parser, view: workspace, userRules }).decision;
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
    throw new Fault('bad_root', `\`${root}\` is no directory that can be read`, {
      audience: 'user',
      next: 'name the workspace with `--root`',
      cause,
    });
  }
  throw new Fault('bad_root', `\`${root}\` is no directory`, { audience: 'user', next: 'name the workspace with `--root`' });
}

function badInput(error: z.ZodError, raw: unknown): Fault {
  const [issue] = error.issues;
  return new Fault(
    'bad_input',
    `\`${issue?.path.join('.') || 'line'}\`: ${issue?.message ?? 'not a case'}${foundWords(raw, issue?.path ?? [])}`,
    {
      audience: 'user',
      next: 'each line is {"id","surface","input"} with "op" and "platform" where they apply',
    },
  );
}
