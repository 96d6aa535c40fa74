/** A path in a developer's command: inside the workspace, no secret read, nothing planted, nothing outside touched. */
import type { Decision } from '#kernel/decision';
import type { PathFact, Segments } from '#kernel/ports/path-facts';
import { controlRowOf } from '../../effects/control-places.ts';
import { isControlPath } from '../../paths/control-files.ts';
import { type Located, locatePath } from '../../paths/locate-path.ts';
import { isSecretPath } from '../../paths/secret-files.ts';
import type { WorkspaceView } from '../../paths/workspace-view.ts';
import type { GlobPart } from '../../ssh/line.ts';
import { expandPattern } from '../expand-pattern.ts';
import { homeDirectory } from './decode-word.ts';
import { askFor, refuseFor } from './findings.ts';
import { freshPlace, isFreshPlace } from './fresh-place.ts';
import { everyName } from './listed-names.ts';
import { leadsUpFromLink, type MadeFiles } from './made-files.ts';
import { judgeTemporary } from './temporary-place.ts';

/** `touch`: names and attributes only; `remove` is a write that takes the file away. */
export type PathAction = 'list' | 'read' | 'write' | 'remove';

export interface PathScope {
  readonly view: WorkspaceView;
  /** Absolute directories in which the command may run. */
  readonly directories: readonly string[];
  readonly made: MadeFiles;
}

export interface NamedPath {
  readonly text: string;
  readonly glob: boolean;
  readonly offset: number;
}

/** Read and written by everybody without effect. */
const harmlessDevices = /^\/dev\/(?:null|stdin|stdout|stderr|tty|fd\/[0-2])$/;

/** What speaks against the path; empty when nothing does. */
export function judgePath(path: NamedPath, action: PathAction, scope: PathScope): readonly Decision[] {
  if (path.text.startsWith(freshPlace))
    return isFreshPlace(path.text) ? [] : [askFor('PATH_OUTSIDE_WORKSPACE', path.offset, 'a path that leads up from a temporary place')];
  if (path.text === '-' || path.text === '' || (action !== 'remove' && harmlessDevices.test(path.text))) return [];
  if (/^\/dev\/(?:tcp|udp)(?:\/|$)/.test(path.text))
    return [askFor('network_blocked', path.offset, `\`${path.text}\` is a network connection`)];
  return judgeInPlace(path, action, scope);
}

function judgeInPlace(path: NamedPath, action: PathAction, scope: PathScope): readonly Decision[] {
  if (leadsUpFromLink(path.text, scope.made))
    return [askFor('SYMLINK_OUTSIDE_WORKSPACE', path.offset, `\`${path.text}\` leads up from a link that the line makes`)];
  const texts = path.glob ? globPaths(path, scope) : [path.text];
  if (texts === undefined) return [askFor('unclear', path.offset, `\`${path.text}\`: the pattern may match too much`)];
  return scope.directories.flatMap((directory) => texts.flatMap((text) => judgeOne({ ...path, text }, action, { scope, directory })));
}

interface At {
  readonly scope: PathScope;
  readonly directory: string;
}

function judgeOne(path: NamedPath, action: PathAction, { scope, directory }: At): readonly Decision[] {
  const temporary = judgeTemporary({ ...path, action, directory }, { roots: scope.view.ground.roots, made: scope.made.temporary });
  if (temporary !== undefined) return temporary;
  const { ground, facts } = scope.view;
  const located = locateIn(directory, path.text, ground);
  if (!located.ok) return [judgeElsewhere(located, path, action)];
  if (action === 'remove' && isWholeWorkspace(located.segments, path))
    return [refuseFor('remove-all', path.offset, `\`${path.text}\` is the whole workspace`)];
  const fact = facts.look(located.raw);
  // Of what a pattern matched only the names are listed.
  if (path.glob && action === 'list' && (fact.kind === 'outside' || fact.kind === 'loop')) return [];
  return judgeFact(fact, action, path) ?? judgeName(located.segments, fact, { action, path });
}

/** A drive of Windows is no directory of this system. */
function locateIn(directory: string, text: string, ground: WorkspaceView['ground']): Located {
  if (ground.platform === 'posix' && /^[A-Za-z]:[\\/]/.test(text))
    return { ok: false, code: 'PATH_OUTSIDE_WORKSPACE', message: 'this is a path of another system' };
  return locatePath(text.startsWith('/') ? text : `${directory}/${text}`, ground);
}

function judgeElsewhere({ code, message }: Extract<Located, { ok: false }>, { text, offset }: NamedPath, action: PathAction): Decision {
  const named = message.includes('`') ? message : `\`${text.slice(0, 100)}\`: ${message}`;
  const why = named.replace(homeDirectory, '~');
  if (action === 'write' || action === 'remove') return refuseFor('write-outside', offset, why);
  return askFor(code === 'PATH_OUTSIDE_WORKSPACE' ? code : 'unclear', offset, why);
}

function isWholeWorkspace(segments: Segments, path: NamedPath): boolean {
  const [name, ...more] = segments;
  return name === undefined || (more.length === 0 && (name === everyName || (path.glob && /(?:^|\/)\*$/.test(path.text))));
}

function judgeFact(fact: PathFact, action: PathAction, { offset, text }: NamedPath): readonly Decision[] | undefined {
  if (fact.kind === 'outside') return [askFor('SYMLINK_OUTSIDE_WORKSPACE', offset, `\`${text}\` leads outside the workspace`)];
  if (fact.kind === 'loop') return [askFor('unclear', offset, `\`${text}\`: links form a circle`)];
  if (fact.kind === 'special' && action === 'read')
    return [askFor('NOT_A_REGULAR_FILE', offset, `\`${text}\` is a device, socket or pipe`)];
  return undefined;
}

interface Named {
  readonly action: PathAction;
  readonly path: NamedPath;
}

function judgeName(written: Segments, fact: PathFact, { action, path }: Named): readonly Decision[] {
  if (action === 'list') return [];
  const real = 'path' in fact ? fact.path : written;
  const either = (test: (segments: Segments) => boolean) => test(written) || test(real);
  // What a program is given may be what it reads (`actionlint`): of the forge's files `write_file` asks, not the word on a line.
  if (action !== 'read' && either((segments) => isControlPath(segments) && controlRowOf(segments)?.id !== 'ci'))
    return [askFor('CONTROL_FILE', path.offset, `\`${path.text}\` makes other programs run something later`)];
  if ((action === 'read' || fact.kind === 'file') && fact.kind !== 'directory' && either(isSecretPath)) {
    return [askFor('SECRET_FILE', path.offset, `\`${path.text}\`: the name stands for a secret`)];
  }
  return [];
}

/** What a pattern matches, and the pattern itself (nothing may match now and something later); undefined when it roams. */
export function globPaths(path: NamedPath, { view, directories }: PathScope): readonly string[] | undefined {
  const firstWild = path.text.search(/[*?[]/);
  const tail = path.text.slice(path.text.lastIndexOf('/', firstWild) + 1);
  if (/(?:^|\/)\.\.(?:\/|$)/.test(tail) || /(?:^|\/)\.[*?[]/.test(tail)) return undefined;
  const found: string[] = [path.text];
  for (const directory of directories) {
    const base = path.text.startsWith('/') ? '' : `${directory}/`;
    const names = expandPattern(patternParts(base + path.text), view);
    if (names === 'too-many') continue;
    found.push(...names);
  }
  return found;
}

function patternParts(text: string): readonly GlobPart[] {
  return (text.match(/\*|\?|\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]|[^*?[]+|\[/g) ?? []).map((piece) =>
    /^(?:\*|\?|\[.+\])$/s.test(piece) ? { wild: piece } : { literal: piece },
  );
}
