/**
 * *Govern This Editor's Agents…*: what each agent may do past this policy, and the hook that ends that, put in and taken out; the same as
 * `banksman hook install`. Not by `contributes.chatPlugins`, whose files are the package's: they could not name the Node to start, and would go on and off
 * with a setting that any extension writes.
 */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { commands, type Disposable, window } from 'vscode';
import type { HookAgent } from '#hosts/hook/agents';
import type { HookChange, HookStanding } from '#hosts/hook/install-hook';
import type { PlaceKind } from '#hosts/hook/installations';
import { showPlainly } from '#kernel/text/text';
import { type Choice, choose } from '../commands/choose.ts';
import { faultWords } from '../fault-words.ts';
import { type Confirmation, type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { offInWindow, projectFolder, standingWords, windowAgent } from './agent-standing.ts';

interface GovernDeps {
  readonly confirm: ConfirmDeps;
  readonly extensionPath: string;
  readonly stateDir: string;
}

type Hooks = typeof import('#hosts/hook/install-hook');

/** A program that runs the command gets no further than the lists: what is in a file changes by a modal and a code typed off it. */
export function registerGovernAgents(deps: GovernDeps): Disposable {
  return commands.registerCommand('banksman.governAgents', async () => {
    try {
      await govern(deps);
    } catch (thrown) {
      deps.confirm.dialogs.tell('error', faultWords(thrown));
    }
  });
}

async function govern(deps: GovernDeps): Promise<void> {
  const { dialogs } = deps.confirm;
  if (process.platform === 'win32') return dialogs.tell('info', t('Hooks are installed on Linux and macOS only; docs/hooks.md says why.'));
  const hooks = await import('#hosts/hook/install-hook');
  const chosen = await chooseAgent(hooks);
  if (chosen === 'activity') return void (await commands.executeCommand('banksman.showActivity'));
  if (chosen === undefined) return;
  const step = await chooseStep(hooks, chosen, deps);
  if (step === undefined) return;
  if ('line' in step) return typeInTerminal(step.line);
  if (!(await confirmRun(questionOf(step, chosen), deps.confirm))) return;
  hooks.carryOut(step.change, deps.stateDir, step.installs);
  const { title } = chosen.agent;
  dialogs.tell(
    'info',
    step.installs
      ? t('{0} is governed as soon as it has read its hooks again.', title)
      : t('{0} is no longer governed by this hook.', title),
  );
}

interface AgentRow extends Choice {
  readonly agent: HookAgent;
  readonly title: string;
  readonly standing: HookStanding;
}

async function chooseAgent(hooks: Hooks): Promise<AgentRow | 'activity' | undefined> {
  const { hookAgents } = await import('#hosts/hook/agents');
  const rows = hookAgents.map((agent): AgentRow => {
    const standing = hooks.hookStanding(agent.name, projectFolder(), agent.name === windowAgent ? offInWindow : undefined);
    const { word, meaning } = standingWords(agent, standing);
    return { agent, standing, title: agent.title, label: agent.title, description: word, detail: meaning };
  });
  const own = rows.toSorted((a, b) => Number(b.agent.name === windowAgent) - Number(a.agent.name === windowAgent));
  const look = { label: t('$(history) Show What They Did'), detail: t('All calls that the trail knows of, hooks’ among them.') };
  const chosen = await choose<Choice & Partial<AgentRow>>([...own, look], {
    title: t('Govern This Editor’s Agents'),
    placeHolder: t('Whose own tools? The change is shown before anything is written.'),
  });
  if (chosen === undefined) return undefined;
  const { agent } = chosen;
  return rows.find((row) => row.agent === agent) ?? 'activity';
}

/** What is done about one agent. */
type Step = { readonly line: string } | { readonly installs: boolean; readonly change: HookChange };

interface StepRow extends Choice {
  readonly place: PlaceKind;
  readonly removes?: true;
}

async function chooseStep(hooks: Hooks, { agent, standing }: AgentRow, deps: GovernDeps): Promise<Step | undefined> {
  const options = { title: t('Govern {0}', agent.title), placeHolder: t('The first that is possible is worth most.') };
  const chosen = await choose(await stepRows(hooks, agent, standing), options);
  if (chosen === undefined) return undefined;
  const { place, removes = false } = chosen;
  if (place === 'managed') return { line: ['sudo', 'banksman', 'hook', 'install', agent.name, '--managed'].join(' ') };
  const project = projectFolder();
  const change = removes
    ? hooks.plannedUninstall(agent.name, place, { project, state: deps.stateDir })
    : hooks.plannedInstall(agent.name, place, project, path.join(deps.extensionPath, 'dist', 'cli.cjs'));
  return { installs: !removes, change };
}

async function stepRows(hooks: Hooks, agent: HookAgent, { there }: HookStanding): Promise<readonly StepRow[]> {
  const { worth } = await import('#hosts/hook/installations');
  const places = hooks.placesOf(agent.name);
  const rows = places.map(({ kind: place, file }): StepRow => {
    const row = { place, label: placeNames[place], description: showPlainly(file, 300), detail: worth[place] };
    return place === 'managed' ? { ...row, ...managedBlock() } : row;
  });
  const removals = there
    .filter(({ kind }) => kind !== 'managed')
    .map(
      ({ kind, file }): StepRow => ({
        place: kind,
        label: t('$(trash) Take the Hook Out'),
        description: showPlainly(file, 300),
        removes: true,
      }),
    );
  const none: StepRow = { place: 'managed', label: placeNames.managed, blocked: t('it reads no hooks that root owns') };
  return [...(places.some(({ kind }) => kind === 'managed') ? [] : [none]), ...rows, ...removals];
}

const placeNames: Readonly<Record<PlaceKind, string>> = {
  managed: t('$(shield) For Everybody on This Machine, by Root'),
  user: t('$(person) For You'),
  project: t('$(repo) For Whoever Trusts This Folder'),
};

/** SECURITY: a hook that root's file starts must be root's program; this extension's lies where the account writes. */
function managedBlock(): { readonly blocked?: string } {
  const isThere = (process.env['PATH'] ?? '').split(path.delimiter).some((folder) => isProgram(path.join(folder, 'banksman')));
  return isThere ? {} : { blocked: t('it takes the command line, installed for everybody: {0}', 'sudo npm install -g banksman') };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Not sent off: root's password and the question are the person's. */
function typeInTerminal(line: string): void {
  const terminal = window.createTerminal({ name: 'Banksman' });
  terminal.show();
  terminal.sendText(line, false);
}

function questionOf({ change, installs }: Exclude<Step, { readonly line: string }>, { title }: AgentRow): Confirmation {
  const name = showPlainly(change.file, 500);
  const head = change.after === undefined ? t('{0} goes:', name) : `${name}:`;
  const shown =
    change.difference.length === 0
      ? t('{0} is so already.', name)
      : [head, ...change.difference.map((line) => showPlainly(line, 400))].join('\n');
  const words = installs
    ? [installed(), advice()]
    : [t('Its own tools are then neither judged nor written down by Banksman, unless another hook does.')];
  return {
    key: `govern:${change.agent}`,
    title: installs ? t('Govern {0}?', title) : t('Stop governing {0}?', title),
    detail: [...words, shown].join('\n\n'),
    proceed: installs ? t('Install the Hook') : t('Take the Hook Out'),
    stay: t('Change Nothing'),
  };
}

const installed = () =>
  t(
    'Its own terminal, edits, reads and fetches are then judged by your policy before they run, and every tool that it calls stands in the audit trail. Its terminal runs nothing but “banksman run”, and edits need the model tier “advanced”, unless “hooks” of your configuration file says otherwise.',
  );
const advice = () => t('It is advice: a program of your account can take it out, and “Doctor” then says so.');
