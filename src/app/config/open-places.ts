/** Who else may write a file of this user's: it, or a directory on the way to it. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { asIs, type Message, say } from '#kernel/text/message';
import { osUser } from './paths.ts';

export interface OpenPlace {
  readonly place: string;
  /** `may be written by every user of this machine` */
  readonly why: Message;
  readonly remedy: Message;
}

/** @param service user id of a service that the file is for. Empty where there is no such file, and on Windows, which has no such modes. LIMIT: access lists are seen as far as they show in the group's bits. */
export function openPlaces(file: string, service?: number): readonly OpenPlace[] {
  if (process.getuid === undefined || !existsSync(file)) return [];
  const mine = [0, process.getuid(), service];
  return placesOf(file).flatMap((place) => {
    const flaw = openTo(place, mine);
    return flaw === undefined ? [] : [{ place, ...flaw }];
  });
}

/** The file, what it is a link to, and every directory on the way to either. */
function placesOf(file: string): readonly string[] {
  const above = (place: string): readonly string[] => (path.dirname(place) === place ? [place] : [place, ...above(path.dirname(place))]);
  return [...new Set([...above(path.resolve(file)), ...above(realpathSync(file))])];
}

function openTo(place: string, mine: readonly (number | undefined)[]): Pick<OpenPlace, 'why' | 'remedy'> | undefined {
  const { uid, gid, mode } = statSync(place);
  if (!mine.includes(uid))
    return { why: say`belongs to another user (${uid})`, remedy: say`chown it: \`chown ${osUser().username} ${place}\`` };
  // In a sticky directory nobody removes or renames what is another's.
  if ((mode & 0o1000) !== 0 && statSync(place).isDirectory()) return undefined;
  if ((mode & 0o002) !== 0) return { why: say`may be written by every user of this machine`, remedy: asIs(`\`chmod o-w ${place}\``) };
  if ((mode & 0o020) !== 0 && !isOwnGroup(gid))
    return { why: say`may be written by the group ${gid}`, remedy: asIs(`\`chmod g-w ${place}\``) };
  return undefined;
}

/** A group with nobody else in it, as many systems make one for each user. What cannot be read counts as a group with others. */
function isOwnGroup(gid: number): boolean {
  if (gid === 0) return true;
  try {
    const { username } = osUser();
    const members = fieldsOf('/etc/group')
      .filter((fields) => Number(fields[2]) === gid)
      .flatMap((fields) => (fields[3] ?? '').split(','));
    const users = fieldsOf('/etc/passwd')
      .filter((fields) => Number(fields[3]) === gid)
      .map((fields) => fields[0]);
    const all = [...members, ...users].filter((name) => name !== undefined && name !== '');
    return all.length > 0 && all.every((name) => name === username);
  } catch {
    return false;
  }
}

function fieldsOf(file: string): readonly (readonly string[])[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
}
