/** Which tools of the catalog make sense on a row of the cluster view. Pure. */
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { ToolDescription } from '#kernel/tool';
import type { Arguments } from '../commands/ask-arguments.ts';
import type { RowTarget } from './cluster-rows.ts';

/** Needs more words than a person is asked for, or is about nothing that a row shows. */
const elsewhere = /(?:^|_)plan$/;

/** What a guest or node must be for a tool whose name begins so; any other one: it does not matter. */
const wantedStatus: Readonly<Record<string, string>> = {
  ...{ start: 'stopped', stop: 'running', shutdown: 'running', restart: 'running', reset: 'running', suspend: 'running' },
  ...{ resume: 'paused', wake: 'offline', execute: 'online' },
};

/** In the order of the catalog. */
export function fittingTools(tools: readonly ToolDescription[], target: RowTarget): readonly ToolDescription[] {
  return tools.filter((tool) => tool.group === 'cluster' && tool.tier !== 'black' && !elsewhere.test(tool.name) && fits(tool, target));
}

function fits({ name, inputSchema }: ToolDescription, target: RowTarget): boolean {
  const takes = new Set(Object.keys(isJsonObject(inputSchema.properties) ? inputSchema.properties : {}));
  const needs = new Set<unknown>(Array.isArray(inputSchema.required) ? inputSchema.required : []);
  const about: Record<ReturnType<typeof subjectOf>, () => boolean> = {
    task: () => false,
    guest: () => takes.has('vmid') && isOfKind(name, target) && isInState(name, target),
    storage: () => name.startsWith('get_') && takes.has('storage') && takes.has('node'),
    node: () => takes.has('node') && !needs.has('vmid') && isInState(name, target),
    cluster: () => !takes.has('node') && !takes.has('vmid') && needs.size === 0,
  };
  return about[subjectOf(target)]();
}

function subjectOf({ upid, vmid, storage, node }: RowTarget): 'task' | 'guest' | 'storage' | 'node' | 'cluster' {
  if (upid !== undefined) return 'task';
  if (vmid !== undefined) return 'guest';
  if (storage !== undefined) return 'storage';
  return node === undefined ? 'cluster' : 'node';
}

function isOfKind(name: string, { guestType }: RowTarget): boolean {
  const kind = /_(vm|container)$/.exec(name)?.[1];
  return kind === undefined || (kind === 'vm') === (guestType === 'qemu');
}

function isInState(name: string, { status }: RowTarget): boolean {
  const wanted = wantedStatus[/^[a-z]+/.exec(name)?.[0] ?? ''];
  return wanted === undefined || wanted === status || name === 'restart_service';
}

/** The arguments that the row answers, of those that the tool takes. */
export function answeredBy({ inputSchema }: ToolDescription, { cluster, node, vmid, storage }: RowTarget): Arguments {
  const properties: JsonObject = isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const known = Object.entries({ cluster, node, vmid, storage }).filter(([name, value]) => value !== undefined && name in properties);
  return Object.fromEntries(known) as Arguments;
}

/** The tool behind a button for guests of both kinds: `start` is `start_vm` or `start_container`. */
export function toolFor(tools: readonly ToolDescription[], verb: string, target: RowTarget): ToolDescription | undefined {
  return fittingTools(tools, target).find(({ name }) => name === verb || name.replace(/_(?:vm|container)$/, '') === verb);
}
