/** Which tools a model is shown, and in how many words: what its tier allows here, and no more than it can hold in its head. */

import { permits } from '#app/for-hosts';
import { type Drawer, drawerTool, fromDrawer, moreTools, type ShortTool, shortener } from '#app/short-list';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ModelTier } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from '../contributes/names.ts';
import { tokensOf } from './conversation.ts';

export interface Circumstances {
  readonly tier: ModelTier;
  /** How many are configured. */
  readonly clusters: number;
  /** A folder is open. */
  readonly hasWorkspace: boolean;
  /** Only what changes nothing: in a workspace that is not trusted, and for a plan. */
  readonly looksOnly: boolean;
  /** What the question is about: stands in front, for a model that is shown few. */
  readonly first: readonly string[];
  /** Tokens that the model takes in all. */
  readonly room: number;
}

export interface Offer {
  readonly tools: readonly ShortTool[];
  /** What a call of the model means: a tool to run with this input, or an answer without a call. */
  meaning(name: string, input: unknown): Meaning;
}

export type Meaning = { readonly run: ToolDescription; readonly input: unknown } | { readonly outcome: Outcome };

/** For models that use few tools well: what a look takes, the most needed first. */
export const simpleTools: readonly string[] = [
  'get_cluster_status',
  'get_vms',
  'get_containers',
  'get_guest',
  'get_node_status',
  'get_storage',
  'get_recent_tasks',
  'get_backups',
  'read_file',
  'list_directory',
  'search_files',
  'list_pending_approvals',
];

/** Arguments that a simple tool keeps although it can do without. */
const simpleArguments: ReadonlySet<string> = new Set(['filter', 'path', 'start_line']);

/** So much of a model's room its tools may take. */
const shareOfRoom = 0.25;

export function offerFor(all: readonly ToolDescription[], here: Circumstances): Offer {
  const usable = all.filter((tool) => isUsable(tool, here));
  const short = shortener(all, here.clusters);
  const isSimple = here.tier === 'basic';
  const wanted = isSimple ? simpleOf(usable, here) : usable.filter((tool) => tool.rare !== true);
  const shown = (tool: ToolDescription) => (isSimple && !here.first.includes(tool.name) ? simplified(short(tool)) : short(tool));
  const offered = fitting(wanted, shown, here.room * shareOfRoom);
  const names = new Set(offered.map((tool) => tool.name));
  const drawer: Required<Drawer> = { inside: isSimple ? [] : usable.filter((tool) => !names.has(tool.name)), offered };
  const list = offered.map(shown);
  return {
    tools: [...list, ...(drawer.inside.length === 0 ? [] : [drawerEntry(drawer)])].map(prefixed),
    meaning: (name, input) => meaningOf(name, input, drawer),
  };
}

/** What the tier may not use, or cannot be used here, would only ever be refused. */
function isUsable(
  { permission, tier, group }: ToolDescription,
  { tier: model, looksOnly, clusters, hasWorkspace }: Circumstances,
): boolean {
  if (tier === 'black' || !permits(model, permission)) return false;
  if (group === 'cluster' && clusters === 0) return false;
  if (group === 'workspace' && !hasWorkspace) return false;
  return tier === 'green' || !looksOnly;
}

function simpleOf(usable: readonly ToolDescription[], { first }: Circumstances): readonly ToolDescription[] {
  return [...new Set([...first, ...simpleTools])].flatMap((name) => usable.find((tool) => tool.name === name) ?? []);
}

/** The first of them that go into the room together; one at least. */
function fitting(tools: readonly ToolDescription[], shown: (tool: ToolDescription) => ShortTool, room: number): readonly ToolDescription[] {
  let left = room;
  return tools.filter((tool, index) => {
    left -= tokensOf(JSON.stringify(shown(tool)));
    return index === 0 || left >= 0;
  });
}

function simplified({ name, description, inputSchema }: ShortTool): ShortTool {
  const { properties, required } = inputSchema;
  const needed = Array.isArray(required) ? required : [];
  const kept = Object.entries(isJsonObject(properties) ? properties : {}).filter(
    ([argument]) => needed.includes(argument) || simpleArguments.has(argument),
  );
  const [first = description] = description.split(/(?<=\.) /, 1);
  return { name, description: first, inputSchema: { ...inputSchema, properties: Object.fromEntries(kept) } };
}

function drawerEntry(drawer: Drawer): ShortTool {
  const { name, description, inputSchema } = drawerTool(drawer);
  return { name, description, inputSchema: inputSchema as JsonObject };
}

function prefixed(tool: ShortTool): ShortTool {
  return { ...tool, name: languageModelName(tool.name) };
}

/** SECURITY: only what was offered runs, or is in the drawer, whatever a model calls. Without its prefix a name is understood: descriptions say it so. */
function meaningOf(called: string, input: unknown, drawer: Required<Drawer>): Meaning {
  const name = called.startsWith(languageModelName('')) ? called.slice(languageModelName('').length) : called;
  if (name === moreTools && drawer.inside.length > 0) return fromDrawer(input, drawer);
  const tool = [...drawer.offered, ...drawer.inside].find((one) => one.name === name);
  if (tool === undefined) return { outcome: unknownTool(called, drawer.offered) };
  return isJsonObject(input) ? { run: tool, input } : { outcome: notAnObject(called) };
}

function unknownTool(called: string, offered: readonly ToolDescription[]): Outcome {
  const names = offered.map((tool) => languageModelName(tool.name)).join(', ');
  const message = `there is no tool \`${called.slice(0, 80)}\` here; nothing was done`;
  return { status: 'error', code: 'unknown_tool', message, next: `use one of: ${names}; or answer without a tool` };
}

function notAnObject(called: string): Outcome {
  const message = `the arguments of \`${called.slice(0, 80)}\` are not a JSON object; nothing was done`;
  return { status: 'error', code: 'invalid_input', message, next: 'call it again with its arguments as one JSON object' };
}
