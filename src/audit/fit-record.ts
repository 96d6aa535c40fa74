/** How large a record may be: what is larger is cut before it is sealed, and the record says what was cut. */
import { hash } from 'node:crypto';
import { type AuditDraft, longestAttributeName, mostAttributes, mostRecordBytes } from '#kernel/audit-event';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

/** Less of a value is not worth its place. No number, truth value or mark of what was cut takes more. */
const leastRoom = 64;

/** A member of an object: its value, and what it takes there with name, colon and comma, in bytes. */
interface Member {
  readonly name: string;
  readonly value: JsonValue;
  readonly bytes: number;
}

/**
 * The same draft where its attributes take at most `mostRecordBytes`. Else texts lose their end, lists their last items and objects the members for
 * which there is no room, the largest first; `cut` names each attribute that lost something, with the size and SHA-256 of the canonical JSON of what
 * was there, so that whoever has it can show that it was that. Never a refusal: what happened is written down.
 * INVARIANT: an attribute that takes no more than its even share is whole.
 * @param most in bytes; less where something is added before it is sealed
 * @throws {TypeError} as `canonicalJson` does; {RangeError} on nesting without end
 */
export function fitRecord(draft: AuditDraft, most: number = mostRecordBytes): AuditDraft {
  if (atMost(draft.attributes) <= most || bytesOf(draft.attributes) <= most) return draft;
  const all = membersOf(draft.attributes);
  const known = all.filter(({ name }) => bytesOf(name) <= longestAttributeName).slice(0, mostAttributes);
  const others = all.filter((member) => !known.includes(member));
  const left = others.length === 0 ? {} : { '': { ...markOf(objectOf(others)), left_out: others.length } };
  const marks = new Map(known.map((member) => [member, markOf(member.value)]));
  const cutAt = (room: number): JsonObject => {
    const given = sharesOf(known, room);
    const cut = known.filter((member) => (given.get(member) ?? 0) < member.bytes);
    return { ...left, ...Object.fromEntries(cut.map((member) => [member.name, marks.get(member)])) };
  };
  // The less room there is, the more is cut, and the more marks that takes: until both fit.
  for (let reserved = 0; ; ) {
    const cut = cutAt(most - reserved);
    const needed = bytesOf({ cut });
    if (needed <= reserved) return { ...draft, attributes: { ...cutMembers(known, most - reserved), cut } };
    reserved = needed;
  }
}

function markOf(value: JsonValue): JsonObject {
  const text = canonicalJson(value);
  return { bytes: Buffer.byteLength(text), sha256: hash('sha256', text, 'hex') };
}

/** At least what it takes, for a tenth of what measuring it costs: nearly all records are small. */
function atMost(value: JsonValue | undefined): number {
  if (typeof value === 'string') return 2 + 6 * value.length;
  if (typeof value !== 'object' || value === null) return 26;
  let sum = 2;
  for (const [key, member] of Object.entries(value)) sum += 4 + 6 * key.length + atMost(member);
  return sum;
}

function bytesOf(value: JsonValue): number {
  return Buffer.byteLength(canonicalJson(value));
}

function membersOf(value: JsonObject): readonly Member[] {
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [{ name, value: member, bytes: bytesOf(name) + bytesOf(member) + 2 }],
  );
}

function objectOf(members: readonly Member[]): JsonObject {
  return Object.fromEntries(members.map(({ name, value }) => [name, value]));
}

/** So much each may take: the small ones what they need, and the large ones the same of what that leaves. */
function sharesOf(members: readonly Member[], room: number): ReadonlyMap<Member, number> {
  const shares = new Map<Member, number>();
  let left = room - 1;
  for (const member of members.toSorted((a, b) => a.bytes - b.bytes)) {
    const share = Math.min(member.bytes, Math.floor(left / (members.length - shares.size)));
    shares.set(member, share);
    left -= share;
  }
  return shares;
}

function cutMembers(members: readonly Member[], room: number): JsonObject {
  const shares = sharesOf(members, room);
  return Object.fromEntries(
    members.flatMap((member) => {
      const { name, value, bytes } = member;
      const share = shares.get(member) ?? 0;
      if (share >= bytes) return [[name, value]];
      const left = share - bytesOf(name) - 2;
      return left < leastRoom ? [] : [[name, cutTo(value, left)]];
    }),
  );
}

/** @param room at least `leastRoom` */
function cutTo(value: JsonValue, room: number): JsonValue {
  if (typeof value === 'string') return cutText(value, room);
  if (Array.isArray(value)) return cutList(value, room);
  return isJsonObject(value) ? cutMembers(membersOf(value), room) : value;
}

function cutText(text: string, room: number): string {
  let [low, high] = [0, Math.min(text.length, room)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytesOf(headOf(text, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return headOf(text, low);
}

/** Never half of a character. */
function headOf(text: string, length: number): string {
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(length - 1));
  return `${text.slice(0, isHalf ? length - 1 : length)}…`;
}

function cutList(list: readonly JsonValue[], room: number): readonly JsonValue[] {
  const kept: JsonValue[] = [];
  let left = room - 2;
  for (const item of list) {
    const bytes = bytesOf(item) + 1;
    if (bytes > left) {
      if (left > leastRoom) kept.push(cutTo(item, left - 1));
      break;
    }
    kept.push(item);
    left -= bytes;
  }
  return kept;
}
