/** Asks a person for a tool's arguments, by live lists where there are some. */
import { ThemeIcon, window } from 'vscode';
import type { LiveLists, ProtectedNames } from '#kernel/live';
import type { ToolDescription } from '#kernel/tool';
import { t, titleOf } from '../l10n.ts';
import { type Choice, choose } from './choose.ts';
import {
  type ArgumentStep,
  type ArgumentType,
  argumentPlan,
  guestPicks,
  type LiveRows,
  nodePicks,
  type Pick,
  plainLabel,
} from './picks.ts';

export type Arguments = Record<string, string | number | boolean | readonly string[]>;

export interface AskContext {
  readonly tool: ToolDescription;
  readonly live: LiveLists;
  readonly signal: AbortSignal;
  /** What is known already, and not asked. */
  readonly given?: Arguments;
  /** What an argument can be, where that is known and its schema does not tell: nodes, storages, snapshots. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
}

/**
 * undefined when the person gave up.
 * @throws {Fault} when a live list cannot be read
 */
export async function askArguments(context: AskContext): Promise<Arguments | undefined> {
  const { tool, given, choices = {} } = context;
  const filled: Arguments = { ...given };
  const all = argumentPlan(tool, Object.keys(filled)).map((step) => narrowed(step, choices));
  const steps = given === undefined ? all : await wantedSteps(all, tool);
  for (const step of steps ?? []) {
    const answer = await askStep(step, context, filled);
    if (answer === undefined) return undefined;
    Object.assign(filled, answer);
  }
  return steps && filled;
}

/** A list instead of a box, where the values are known. */
function narrowed(step: ArgumentStep, choices: Readonly<Record<string, readonly string[]>>): ArgumentStep {
  if (step.kind !== 'text') return step;
  const { name, prompt, required } = step;
  const values = Object.hasOwn(choices, name) ? (choices[name] ?? []) : [];
  return values.length === 0 ? step : { kind: 'choice', name, prompt, required, values };
}

/** All that has to be said, and of the rest what the person wants to say. undefined: they gave up. */
async function wantedSteps(all: readonly ArgumentStep[], tool: ToolDescription): Promise<readonly ArgumentStep[] | undefined> {
  const optional = all.flatMap((step) => ('required' in step && !step.required ? [step] : []));
  const needed = all.filter((step) => !optional.some((one) => one === step));
  if (optional.length === 0) return needed;
  const items = optional.map((step) => ({ label: step.name, detail: plainLabel(step.prompt), step }));
  const chosen = await window.showQuickPick(items, {
    title: titleOf(tool),
    placeHolder: t('Optional: choose what to set besides, or go on'),
    canPickMany: true,
  });
  return chosen && [...needed, ...chosen.map(({ step }) => ({ ...step, required: true }))];
}

/** `{}` leaves an optional argument out. */
async function askStep(step: ArgumentStep, context: AskContext, filled: Arguments): Promise<Arguments | undefined> {
  switch (step.kind) {
    case 'cluster':
      return askCluster(context);
    case 'guest':
      return pickFrom(
        context,
        liveRows(context, filled).then((live) => guestPicks(live, step)),
      );
    case 'node':
      return pickFrom(
        context,
        liveRows(context, filled).then((live) => nodePicks(live, step.offlineFirst)),
      );
    case 'choice':
      return askChoice(step, context);
    case 'text':
      return askText(step, context);
  }
}

const nothingProtected: ProtectedNames = { guests: new Map(), nodes: new Map() };

async function liveRows(context: AskContext, filled: Arguments): Promise<LiveRows> {
  const { tool, live, signal } = context;
  const cluster = clusterOf(context, filled);
  const [guests, nodes, protectedNames] = await Promise.all([
    live.guests(cluster, signal),
    live.nodes(cluster, signal),
    // Reading what is protected is nobody's harm, unless the configuration says so; then the call itself is refused.
    tool.tier === 'green' ? nothingProtected : live.protectedNames(cluster, signal),
  ]);
  return { guests, nodes, protected: protectedNames };
}

function clusterOf({ live }: AskContext, filled: Arguments): string {
  return String(filled['cluster'] ?? live.clusters[0] ?? '');
}

async function askCluster({ tool, live }: AskContext): Promise<Arguments | undefined> {
  if (live.clusters.length < 2) return {};
  const name = await window.showQuickPick([...live.clusters], { title: titleOf(tool), placeHolder: t('Cluster') });
  return name === undefined ? undefined : { cluster: name };
}

const nothing: Choice = { label: t('Nothing to choose from'), blocked: t('nothing in the cluster is in a state for this') };

async function pickFrom({ tool }: AskContext, rows: Promise<readonly Pick[]>): Promise<Arguments | undefined> {
  const items = rows.then((picks): (Choice & Partial<Pick>)[] =>
    picks.length === 0 ? [nothing] : picks.map((pick) => ({ ...pick, iconPath: new ThemeIcon(pick.icon) })),
  );
  const chosen = await choose(items, { title: titleOf(tool), placeHolder: t('Type to filter') });
  return chosen?.fills && { ...chosen.fills };
}

async function askChoice(step: Extract<ArgumentStep, { kind: 'choice' }>, { tool }: AskContext): Promise<Arguments | undefined> {
  const any = t('All');
  const values = step.required ? [...step.values] : [any, ...step.values];
  const chosen = await window.showQuickPick(values, { title: titleOf(tool), placeHolder: step.prompt });
  if (chosen === undefined) return undefined;
  return chosen === any ? {} : { [step.name]: typed(chosen, step.type) };
}

async function askText(step: Extract<ArgumentStep, { kind: 'text' }>, { tool }: AskContext): Promise<Arguments | undefined> {
  const pattern = step.pattern === undefined ? undefined : new RegExp(step.pattern, 'u');
  const said = await window.showInputBox({
    title: titleOf(tool),
    prompt: step.required ? step.prompt : `${step.prompt} ${t('Optional.')}`,
    ignoreFocusOut: true,
    validateInput(text) {
      if (text.trim() === '') return step.required ? t('`{0}` is needed', step.name) : undefined;
      if (step.type === 'integer' && !/^-?\d{1,15}$/.test(text.trim())) return t('`{0}` is a whole number', step.name);
      return pattern && !pattern.test(text.trim()) ? t('must match {0}', pattern.source) : undefined;
    },
  });
  if (said === undefined) return undefined;
  return said.trim() === '' ? {} : { [step.name]: typed(said.trim(), step.type) };
}

/** What was picked or typed, as the tool takes it. */
function typed(text: string, type: ArgumentType | undefined): Arguments[string] {
  if (type === 'boolean') return text === 'yes';
  if (type === 'integer') return Number(text);
  return type === 'list' ? text.split(/[,;\s]+/).filter((word) => word !== '') : text;
}
