/** “Test a Command”: what the policy says of a command or a path, while it is typed. Nothing is run. */
import { commands, type Disposable, type QuickPickItem, window } from 'vscode';
import type { PolicyCheck } from '#app/policy-check';
import { Fault, toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import { decisionItems } from './decision-items.ts';
import { plainLabel } from './picks.ts';

interface Surface extends QuickPickItem {
  /** The keys of a policy case that the choice fixes. */
  readonly fixed: { readonly surface: string; readonly op?: string };
  readonly example: string;
}

const surfaces: readonly Surface[] = [
  { label: 'Node, over ssh', description: 'execute_ssh', fixed: { surface: 'ssh' }, example: 'df -h | head -n 5' },
  {
    label: 'Workspace, a developer’s shell',
    description: 'run_command of an advanced model',
    fixed: { surface: 'workspace_command' },
    example: 'npm test',
  },
  {
    label: 'Workspace, read-only',
    description: 'run_command of an intermediate model',
    fixed: { surface: 'readonly_bash' },
    example: 'grep -rn TODO src',
  },
  { label: 'Path to read', description: 'read_file', fixed: { surface: 'path', op: 'read' }, example: 'src/index.ts' },
  { label: 'Path to write', description: 'write_file', fixed: { surface: 'path', op: 'write' }, example: 'src/index.ts' },
  { label: 'Path to list', description: 'list_directory', fixed: { surface: 'path', op: 'list' }, example: 'src' },
];

export function registerTestCommand(session: AppSession): Disposable {
  return commands.registerCommand('banksman.testCommand', async () => {
    try {
      const surface = await window.showQuickPick(surfaces, { title: 'Test a Command', placeHolder: 'Where it would run' });
      if (surface) testOn(surface, await policyCheckOf(session));
    } catch (thrown) {
      void window.showErrorMessage(`Banksman: ${toFault(thrown).message}`);
    }
  });
}

/** Judged as `banksman policy check` does: level balanced, no agent, the user's own rules included. */
function policyCheckOf(session: AppSession): Promise<PolicyCheck> {
  return session.use(async ({ config }) => {
    // Loaded on first need: it brings the shell's grammar along.
    const { createPolicyCheck } = await import('#app/policy-check');
    return createPolicyCheck(config.workspace.root, config.commandRules).catch((thrown: unknown) => {
      throw new Fault('no_workspace', `the policy needs a workspace to judge by: ${toFault(thrown).message}`, {
        audience: 'user',
        next: 'open a folder',
        cause: thrown,
      });
    });
  });
}

function testOn(surface: Surface, check: PolicyCheck): void {
  const pick = window.createQuickPick();
  pick.title = `Test a Command: ${surface.label}`;
  pick.placeholder = `For example: ${surface.example}`;
  pick.ignoreFocusOut = true;
  // Nothing here is a choice: the rows are the answer.
  pick.onDidChangeValue((input) => {
    pick.items = input.trim() === '' ? [] : itemsFor(input, surface, check).map((item) => ({ ...item, alwaysShow: true }));
  });
  pick.onDidAccept(() => pick.hide());
  pick.onDidHide(() => pick.dispose());
  pick.show();
}

function itemsFor(input: string, surface: Surface, check: PolicyCheck): QuickPickItem[] {
  try {
    return decisionItems(check.decide({ id: 'typed', input, platform: 'posix', ...surface.fixed }).decision);
  } catch (thrown) {
    return [{ label: '$(error) cannot be judged', detail: plainLabel(toFault(thrown).message) }];
  }
}
