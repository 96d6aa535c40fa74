/** “Test a Command”: what the policy says of a command or a path, while it is typed. Nothing is run. */
import { type Disposable, type QuickPickItem, window } from 'vscode';
import type { PolicyCheck } from '#app/workspace/policy-check';
import { Fault, toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import { faultTexts, faultWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { loadParts } from '../load-parts.ts';
import type { Places } from '../start-app.ts';
import { decisionItems, plainLabel, type TestedIn, testedItems } from './picks.ts';
import { toldCommand } from './told-command.ts';

interface Surface extends QuickPickItem {
  /** The keys of a policy case that the choice fixes. */
  readonly fixed: Pick<TestedIn, 'surface' | 'op'>;
  readonly example: string;
}

const surfaces: readonly Surface[] = [
  { label: t('Node, over ssh'), description: 'execute_ssh', fixed: { surface: 'ssh' }, example: 'df -h | head -n 5' },
  {
    label: t('Workspace, what it changes is judged and applied'),
    description: t('{0} of an advanced model', 'run_command'),
    fixed: { surface: 'workspace_command' },
    example: 'npm test',
  },
  {
    label: t('Workspace, what it changes is dropped'),
    description: t('{0} of an intermediate model', 'run_command'),
    fixed: { surface: 'readonly_bash' },
    example: 'grep -rn TODO src',
  },
  { label: t('Path to read'), description: 'read_file', fixed: { surface: 'path', op: 'read' }, example: 'src/index.ts' },
  { label: t('Path to write'), description: 'write_file', fixed: { surface: 'path', op: 'write' }, example: 'src/index.ts' },
  { label: t('Path to list'), description: 'list_directory', fixed: { surface: 'path', op: 'list' }, example: 'src' },
];

export function registerTestCommand(session: AppSession, places: Pick<Places, 'stateDir'>): Disposable {
  return toldCommand('banksman.testCommand', async () => {
    const surface = await window.showQuickPick(surfaces, { title: t('Test a Command'), placeHolder: t('Where it would run') });
    if (surface) testOn(surface, await groundOf(session, places));
  });
}

interface Ground extends Pick<TestedIn, 'level' | 'sandbox'> {
  readonly check: PolicyCheck;
}

/** As `banksman policy check` judges (level balanced, no agent), with the user's own rules and the view that this window has. */
async function groundOf(session: AppSession, places: Pick<Places, 'stateDir'>): Promise<Ground> {
  const { createPolicyCheck, settingsOf } = await loadParts();
  return session.use(async (app) => {
    const { config, securityLevel: level } = app;
    const sandbox = app.sandboxState();
    try {
      // The settings have made the root absolute, from this window's folder.
      const check = createPolicyCheck(config.workspaceRoot, { userRules: settingsOf(places.stateDir).commandRules, view: sandbox.view });
      return { check, level, sandbox };
    } catch (cause) {
      const why = t('the policy needs a workspace to judge by: {0}', faultTexts(toFault(cause)).message);
      throw new Fault('no_workspace', why, { audience: 'user', next: 'open a folder', cause });
    }
  });
}

function testOn(surface: Surface, ground: Ground): void {
  const pick = window.createQuickPick();
  pick.title = t('Test a Command: {0}', surface.label);
  pick.placeholder = t('For example: {0}', surface.example);
  pick.ignoreFocusOut = true;
  // Nothing here is a choice: the rows are the answer.
  pick.onDidChangeValue((input) => {
    pick.items = input.trim() === '' ? [] : itemsFor(input, surface, ground).map((item) => ({ ...item, alwaysShow: true }));
  });
  pick.onDidAccept(() => pick.hide());
  pick.onDidHide(() => pick.dispose());
  pick.show();
}

function itemsFor(input: string, { fixed }: Surface, { check, level, sandbox }: Ground): QuickPickItem[] {
  try {
    const { decision } = check.decide({ id: 'typed', input, platform: 'posix', ...fixed });
    return [...decisionItems(decision), ...testedItems(decision, { ...fixed, level, sandbox })];
  } catch (thrown) {
    return [{ label: `$(error) ${t('cannot be judged')}`, detail: plainLabel(faultWords(thrown)) }];
  }
}
