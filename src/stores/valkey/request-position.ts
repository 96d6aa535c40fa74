/** Positions in the one order that all lists have: newest first, by place and then by id. */
import { Fault } from '#kernel/errors';
import { requestIdPattern } from '#kernel/request';
import type { FoundRequest } from './find-requests.ts';

export interface Position {
  readonly place: number;
  readonly id: string;
}

/** The newest possible place: beyond the year 2200, and still exact. */
const newest: Position = { place: 8_000_000_000_000_000, id: '' };

export const positionOf = ({ place, record }: FoundRequest): Position => ({ place, id: record.id });

/** Of a member of an index. What is no request's id comes last at its place, so that a cursor can always be made of it. */
export function positionOfMember(place: number, member: string): Position {
  return { place, id: requestIdPattern.test(member) ? member : 'req-00000000' };
}

/** Negative where `a` is newer. */
export function newestFirst(a: Position, b: Position): number {
  if (a.place !== b.place) return b.place - a.place;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

export function isBefore(position: Position, before: Position): boolean {
  return position.place < before.place || (position.place === before.place && position.id < before.id);
}

export function cursorOf({ place, id }: Position): string {
  return `${place}.${id.slice('req-'.length)}`;
}

/** @throws {Fault} `bad_cursor` */
export function readCursor(cursor: string | undefined): Position {
  if (cursor === undefined) return newest;
  const [, place, id] = /^(\d{1,16})\.([a-f0-9]{8})$/.exec(cursor) ?? [];
  if (place !== undefined && id !== undefined) return { place: Number(place), id: `req-${id}` };
  throw new Fault('bad_cursor', 'this `cursor` is not one that a list returned', {
    audience: 'user',
    next: 'start again without a cursor',
  });
}
