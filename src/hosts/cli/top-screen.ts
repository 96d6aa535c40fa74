/** What `banksman top` shows, as lines of one screen. SECURITY: each text of a cluster or an agent goes through `showPlainly` here, and nothing else prints. */

import type { RequestRecord } from '#kernel/approval/request';
import type { AttemptView } from '#kernel/attempt';
import type { JsonObject, JsonValue } from '#kernel/json';
import { formatDuration, showPlainly } from '#kernel/text/text';
import { cut, padded, type Screen, styled } from './result-screen.ts';

export interface TopScreen extends Screen {
  readonly height: number;
}

export interface TopFacts {
  readonly level: string;
  readonly isPaused: boolean;
  /** Why the last look at what waits did not succeed. */
  readonly failed?: string;
  /** What waits for a person, the oldest first. */
  readonly waiting: readonly Pick<RequestRecord, 'id' | 'title' | 'tier' | 'agent' | 'createdAt' | 'expiresAt'>[];
  /** More wait than are in `waiting`. */
  readonly more: boolean;
  /** What agents are at, and what nobody knows the outcome of. */
  readonly attempts: readonly AttemptView[];
  readonly clusters: readonly ClusterFacts[];
  /** Of the moment, in ms since the epoch. */
  readonly now: number;
}

export interface ClusterFacts {
  readonly name: string;
  /** Rows of the last look that succeeded. */
  readonly resources: readonly JsonObject[];
  /** Why the last look did not. */
  readonly failed?: string;
}

/** Fewer cells or lines than these show nothing one could act on. */
export const leastWidth = 24;
export const leastHeight = 6;

type Style = Parameters<typeof styled>[0];

interface Line {
  readonly text: string;
  readonly style?: Style;
}

/** As many lines as fit, none wider than the screen. @param chosen the request that keys are about */
export function topLines(facts: TopFacts, chosen: string | undefined, screen: TopScreen): readonly string[] {
  const { width, height } = screen;
  if (width < leastWidth || height < leastHeight) return [cut('too small: enlarge it', width)];
  const room = height - 2;
  const waiting = waitingLines(facts, chosen, Math.max(2, Math.floor(room / 2)));
  const attempts = attemptLines(facts, Math.max(0, Math.min(6, Math.floor((room - waiting.length) / 3))));
  const clusters = clusterLines(facts, room - waiting.length - attempts.length);
  const body = [...waiting, ...attempts, ...clusters].slice(0, room);
  const blank = Array.from({ length: room - body.length }, (): Line => ({ text: '' }));
  return [headLine(facts), ...body, ...blank, keysLine(facts)].map(({ text, style }) => {
    const shown = cut(text, width);
    return style === undefined ? shown : styled(style, shown, screen);
  });
}

function headLine({ level, isPaused, waiting, more, failed, now }: TopFacts): Line {
  const known = `${waiting.length}${more ? '+' : ''} waiting`;
  const unread = waiting.length === 0 ? '' : `${known} when last read`;
  const counts = failed === undefined ? known : unread;
  const time = new Date(now).toLocaleTimeString('en-GB');
  const paused = isPaused ? '  AGENTS PAUSED' : '';
  return { text: `banksman top  ${time}  level ${showPlainly(level, 20)}${paused}  ${counts}`, style: isPaused ? 'yellow' : 'bold' };
}

function keysLine({ waiting }: TopFacts): Line {
  const answers = waiting.length === 0 ? '' : 'up/down choose  enter card  a approve  d deny  ';
  return { text: `${answers}q leave`, style: 'dim' };
}

function waitingLines(facts: TopFacts, chosen: string | undefined, room: number): readonly Line[] {
  const { waiting, failed } = facts;
  if (failed === undefined)
    return waiting.length === 0 ? [{ text: 'Nothing waits for a person.', style: 'dim' }] : requestLines(facts, chosen, room);
  const flaw: Line = { text: `What waits cannot be read: ${showPlainly(failed, 200)}`, style: 'red' };
  return waiting.length === 0 ? [flaw] : [flaw, ...requestLines(facts, chosen, Math.max(2, room - 1))];
}

/** The chosen one is always among those that are shown. */
function requestLines({ waiting, more, now }: TopFacts, chosen: string | undefined, room: number): readonly Line[] {
  const rows = room - 1;
  const at = Math.max(
    0,
    waiting.findIndex(({ id }) => id === chosen),
  );
  const from = Math.max(0, Math.min(at - Math.floor(rows / 2), waiting.length - rows));
  const shown = waiting.slice(from, from + rows);
  const part =
    shown.length < waiting.length || more ? ` (${from + 1} to ${from + shown.length} of ${waiting.length}${more ? '+' : ''})` : '';
  return [{ text: `Waiting for a person${part}`, style: 'bold' }, ...shown.map((record) => waitingLine(record, record.id === chosen, now))];
}

function waitingLine({ id, title, tier, agent, createdAt, expiresAt }: TopFacts['waiting'][number], isChosen: boolean, now: number): Line {
  const who = showPlainly(agent.label ?? agent.id, 40);
  const age = `${formatDuration(now - createdAt)} ago, ${formatDuration(Math.max(0, expiresAt - now))} left`;
  const text = `${isChosen ? '>' : ' '} ${id}  ${tier.padEnd(6)}  ${showPlainly(title, 120)}  (${who}, ${age})`;
  return isChosen ? { text, style: 'inverse' } : { text };
}

function attemptLines({ attempts, now }: TopFacts, room: number): readonly Line[] {
  if (attempts.length === 0 || room < 2) return [];
  const shown = attempts.slice(0, room - 1);
  const rest = attempts.length > shown.length ? ` (${shown.length} of ${attempts.length})` : '';
  return [{ text: `Under way${rest}`, style: 'bold' }, ...shown.map((attempt) => attemptLine(attempt, now))];
}

function attemptLine({ tool, agent, targets, standing, begunAt }: AttemptView, now: number): Line {
  const what = targets.map((target) => showPlainly(target, 60)).join(', ');
  const age = formatDuration(Math.max(0, now - Date.parse(begunAt)));
  const text = `  ${showPlainly(tool, 40)}  ${what}  (${showPlainly(agent, 60)}, ${age})`;
  return standing === 'unknown' ? { text: `${text}  OUTCOME UNKNOWN`, style: 'red' } : { text };
}

function clusterLines({ clusters }: TopFacts, room: number): readonly Line[] {
  if (clusters.length === 0) return [{ text: 'No cluster is configured.', style: 'dim' }];
  const each = Math.floor(room / clusters.length);
  return clusters.flatMap((cluster) => oneCluster(cluster, each));
}

function oneCluster({ name, resources, failed }: ClusterFacts, room: number): readonly Line[] {
  if (room < 1) return [];
  const title = showPlainly(name, 60);
  if (failed !== undefined && resources.length === 0) return [{ text: `${title}: ${showPlainly(failed, 200)}`, style: 'red' }];
  const nodes = resources.filter(({ type }) => type === 'node').toSorted((a, b) => textOf(a['node']).localeCompare(textOf(b['node'])));
  const guests = resources.filter(({ type, template }) => (type === 'qemu' || type === 'lxc') && template !== 1).toSorted(busiest);
  const running = guests.filter(({ status }) => status === 'running').length;
  const online = nodes.filter(({ status }) => status === 'online').length;
  const stale = failed === undefined ? '' : `  NOT ANSWERING: ${showPlainly(failed, 100)}`;
  const head: Line = {
    text: `${title}  ${online} of ${nodes.length} nodes online  ${running} of ${guests.length} guests run${stale}`,
    style: failed === undefined ? 'bold' : 'red',
  };
  const rows = [...nodes.map(nodeLine), ...guests.map(guestLine)];
  const shown = rows.slice(0, room - 1);
  const left = rows.length - shown.length;
  if (left === 0 || shown.length === 0) return [head, ...shown];
  return [head, ...shown.slice(0, -1), { text: `  and ${left + 1} more`, style: 'dim' }];
}

/** Those that run first, then by load. */
function busiest(a: JsonObject, b: JsonObject): number {
  return (
    Number(b['status'] === 'running') - Number(a['status'] === 'running') ||
    numberOf(b['cpu']) - numberOf(a['cpu']) ||
    numberOf(a['vmid']) - numberOf(b['vmid'])
  );
}

function nodeLine({ node, status, cpu, mem, maxmem }: JsonObject): Line {
  const text = `  ${padded(shownText(node, 30), 18)} ${padded(shownText(status, 12), 8)} ${loads(cpu, mem, maxmem)}`;
  return status === 'online' ? { text } : { text, style: 'red' };
}

function guestLine({ vmid, name, status, node, cpu, mem, maxmem }: JsonObject): Line {
  const runs = status === 'running';
  const text = `  ${padded(`${numberOf(vmid)} ${shownText(name, 40)}`, 18)} ${padded(shownText(status, 12), 8)} ${runs ? loads(cpu, mem, maxmem) : padded('', 19)} ${shownText(node, 30)}`;
  return runs ? { text } : { text, style: 'dim' };
}

function loads(cpu: JsonValue | undefined, mem: JsonValue | undefined, maxmem: JsonValue | undefined): string {
  return `cpu ${percent(numberOf(cpu))}  mem ${percent(numberOf(maxmem) === 0 ? 0 : numberOf(mem) / numberOf(maxmem))}`;
}

function percent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)} %`.padStart(5);
}

function shownText(value: JsonValue | undefined, longest: number): string {
  return showPlainly(textOf(value), longest);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
