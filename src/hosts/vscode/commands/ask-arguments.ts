/** Asks a person for a tool's arguments, by live lists where there are some. */
import { ThemeIcon, window } from 'vscode';
import type { LiveLists, ProtectedNames } from '#app/app';
import type { ToolDescription } from '#kernel/tool';
import { type ArgumentStep, argumentPlan } from './argument-plan.ts';
import { type Choice, choose } from './choose.ts';
import { guestPicks, type LiveRows, nodePicks, type Pick } from './picks.ts';

export type Arguments = Record<string, string | number>;

export interface AskContext {
  readonly tool: ToolDescription;
  readonly live: LiveLists;
  readonly signal: AbortSignal;
}

/**
 * undefined when the person gave up.
 * @throws {Fault} when a live list cannot be read
 */
export async function askArguments(context: AskContext): Promise<Arguments | undefined> {
  const filled: Arguments = {};
  for (const step of argumentPlan(context.tool)) {
    const answer = await askStep(step, context, filled);
    if (answer === undefined) return undefined;
    Object.assign(filled, answer);
  }
  return filled;
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
  return String(filled.cluster ?? live.clusters[0] ?? '');
}

async function askCluster({ tool, live }: AskContext): Promise<Arguments | undefined> {
  if (live.clusters.length < 2) return {};
  const name = await window.showQuickPick([...live.clusters], { title: tool.title, placeHolder: 'Cluster' });
  return name === undefined ? undefined : { cluster: name };
}

const nothing: Choice = { label: 'Nothing to choose from', blocked: 'nothing in the cluster is in a state for this' };

async function pickFrom({ tool }: AskContext, rows: Promise<readonly Pick[]>): Promise<Arguments | undefined> {
  const items = rows.then((picks): (Choice & Partial<Pick>)[] =>
    picks.length === 0 ? [nothing] : picks.map((pick) => ({ ...pick, iconPath: new ThemeIcon(pick.icon) })),
  );
  const chosen = await choose(items, { title: tool.title, placeHolder: 'Type to filter' });
  return chosen?.fills && { ...chosen.fills };
}

async function askChoice(step: Extract<ArgumentStep, { kind: 'choice' }>, { tool }: AskContext): Promise<Arguments | undefined> {
  const any = 'All';
  const values = step.required ? [...step.values] : [any, ...step.values];
  const chosen = await window.showQuickPick(values, { title: tool.title, placeHolder: step.prompt });
  if (chosen === undefined) return undefined;
  return chosen === any ? {} : { [step.name]: chosen };
}

async function askText(step: Extract<ArgumentStep, { kind: 'text' }>, { tool }: AskContext): Promise<Arguments | undefined> {
  const pattern = step.pattern === undefined ? undefined : new RegExp(step.pattern, 'u');
  const typed = await window.showInputBox({
    title: tool.title,
    prompt: step.required ? step.prompt : `${step.prompt} Optional.`,
    ignoreFocusOut: true,
    validateInput(text) {
      if (text.trim() === '') return step.required ? `\`${step.name}\` is needed` : undefined;
      return pattern && !pattern.test(text.trim()) ? `must match ${step.pattern}` : undefined;
    },
  });
  if (typed === undefined) return undefined;
  return typed.trim() === '' ? {} : { [step.name]: typed.trim() };
}
