/** *Do…* on a row: every tool that fits it, by the same pipeline and gate as anybody's call, with the person as the caller. */
import { ThemeIcon } from 'vscode';
import { wordOf } from '#kernel/json';
import type { ToolDescription } from '#kernel/tool';
import { type Choice, choose } from '../commands/choose.ts';
import { act, type ClusterActionDeps } from '../commands/cluster-actions.ts';
import { plainLabel } from '../commands/picks.ts';
import { t, titleOf } from '../l10n.ts';
import { notify } from '../notify.ts';
import type { ClusterState, RowTarget } from './cluster-rows.ts';
import { answeredBy, fittingTools, toolFor } from './fitting-tools.ts';

export interface RowActionDeps extends ClusterActionDeps {
  /** None while there is no App: then there are no rows either. */
  tools(): readonly ToolDescription[];
  /** As they were last seen. */
  clusters(): readonly ClusterState[];
}

type ToolChoice = Choice & { readonly tool: ToolDescription };

/** Asks which; nothing runs before a person answered what its tier asks. */
export async function chooseAndAct(target: RowTarget, title: string, deps: RowActionDeps): Promise<void> {
  const items = fittingTools(deps.tools(), target).map((tool): ToolChoice => toolChoice(tool, target));
  if (items.length === 0) return void notify.info(t('No tool fits {0}.', title));
  const chosen = await choose(items, { title: plainLabel(title), placeHolder: t('What to do? Type to filter') });
  if (chosen) await actOn(chosen.tool, target, deps);
}

function toolChoice(tool: ToolDescription, target: RowTarget): ToolChoice {
  const looks = tool.impact === 'none';
  const asks = tool.tier === 'green' ? t('looks') : tool.tier === 'red' ? t('asks you') : t('checked and logged');
  return {
    ...{ tool, label: titleOf(tool), description: tool.impact === 'none' ? asks : `${asks} · ${tool.impact}` },
    iconPath: new ThemeIcon(looks ? 'eye' : tool.impact === 'irreversible' ? 'warning' : 'play'),
    ...(looks || target.protected === undefined ? {} : { blocked: plainLabel(target.protected.split(';')[0] ?? '') }),
  };
}

/** `start`, `shutdown`, `create_snapshot`, …: the tool of that name that fits the row. */
export async function actByVerb(verb: string, target: RowTarget, deps: RowActionDeps): Promise<void> {
  const tool = toolFor(deps.tools(), verb, target);
  if (tool) await actOn(tool, target, deps);
  else void notify.info(t('This does not fit what it is now ({0}).', target.status ?? 'unknown'));
}

/** Protection, rights and everything else are the pipeline's to say: what was seen a while ago may be old. */
function actOn(tool: ToolDescription, target: RowTarget, deps: RowActionDeps): Promise<void> {
  return act(tool, deps, { given: answeredBy(tool, target), choices: choicesFor(target, deps.clusters()) });
}

/** Other nodes that are online, and storages that the row's node has. */
function choicesFor({ cluster, node }: RowTarget, clusters: readonly ClusterState[]): Readonly<Record<string, readonly string[]>> {
  const resources = clusters.find(({ name }) => name === cluster)?.overview?.resources ?? [];
  const nodes = resources.filter((row) => row['type'] === 'node' && row['status'] === 'online' && row['node'] !== node);
  const storages = resources.filter((row) => row['type'] === 'storage' && (node === undefined || row['node'] === node));
  return {
    target: nodes.map((row) => wordOf(row['node'])).sort(),
    storage: [...new Set(storages.map((row) => wordOf(row['storage'])))].sort(),
  };
}
