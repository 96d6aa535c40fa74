/** The path policy as the file tools use it: which files a path means, and what is decided about it. */
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { type PathRules, type PlacedPath, showPath } from '#connectors/workspace-files/path-rules';
import { type Decision, deny } from '#kernel/decision';
import type { PathFact, PathFacts, Segments } from '#kernel/ports/path-facts';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { PathUse } from '#kernel/resource';
import { decidePath } from '#policy/paths/decide-path';
import { type Ground, locatePath, type Platform } from '#policy/paths/locate-path';

/** What was decided about a path, and what it is after links: `real` belongs into the digest. */
export interface JudgedPath {
  readonly decision: Decision;
  /** undefined where it is nothing that could be named (outside, a circle). */
  readonly real?: string;
}

/**
 * Whether `/tmp/…` may mean the agent's own sandbox. Where the workspace is itself below the machine's `/tmp`, what stands beside it there
 * is a neighbour that somebody tries to reach, not a sandbox.
 */
function mayBePersona(path: string, roots: readonly string[]): boolean {
  const first = /^\/+tmp(?:\/+([^/]*)|$)/.exec(path);
  return first !== null && !roots.some((root) => (first[1] ?? '') !== '' && root.startsWith(`/tmp/${first[1]}/`));
}

const platform: Platform = process.platform === 'win32' ? 'win32' : 'posix';

/** Every agent's own sandbox is `/tmp` to it. */
const personaGround: Ground = { roots: ['/tmp'], platform: 'posix' };

/** @param own what in the workspace is this layer's own, links resolved (`ownPlaces`): no use of it is allowed */
export function pathRules(roots: readonly string[], own: readonly Segments[] = []): PathRules {
  const workspaceGround: Ground = { roots, platform };
  const isOwn = (segments: Segments) => own.some((entry) => entry.every((name, index) => sameName(name, segments[index])));
  const place = (path: string): PlacedPath => {
    const inWorkspace = locatePath(path, workspaceGround);
    // The workspace first: it may itself be below the machine's `/tmp`.
    if (inWorkspace.ok) return { ok: true, root: 'workspace', segments: inWorkspace.segments };
    const inPersona = mayBePersona(path, roots) ? locatePath(path, personaGround) : undefined;
    return inPersona?.ok ? { ok: true, root: 'persona', segments: inPersona.segments } : { ...inWorkspace };
  };
  return {
    place,
    decide: (path, use, fact) => {
      const placed = place(path);
      const ground = placed.ok && placed.root === 'persona' ? personaGround : workspaceGround;
      if (ground === workspaceGround && placed.ok && (isOwn(placed.segments) || ('path' in fact && isOwn(fact.path)))) return ownFile;
      return decidePath(path, narrowed(use, fact), { ground, facts: { look: () => fact, names: () => undefined } });
    },
  };
}

const ownFile = deny('OWN_FILE', 'this is Banksman’s own state or configuration, which no tool touches', ['path.own']);

/** On systems that usually fold the case of names, names that differ in nothing else are the same. */
function sameName(own: string, name: string | undefined): boolean {
  return name !== undefined && (own === name || (process.platform !== 'linux' && own.toLowerCase() === name.toLowerCase()));
}

/** A search takes a file or a directory; the policy knows reading the one and listing the other. */
function narrowed(use: PathUse, fact: PathFact): Exclude<PathUse, 'search'> {
  if (use !== 'search') return use;
  return fact.kind === 'directory' ? 'list' : 'read';
}

export interface PathJudgeOptions {
  readonly rules: PathRules;
  readonly workspaceRoot: string;
  readonly ledger: PersonaLedger;
  /** The directory that holds a sandbox's files. */
  readonly personaDirectory: (directory: string) => string;
}

/** Judges a path before a call runs; the file connector judges again when it opens it. */
export function createPathJudge({ rules, workspaceRoot, ledger, personaDirectory }: PathJudgeOptions) {
  const workspace = createPathFacts(workspaceRoot);
  const factsFor = async (agentId: string): Promise<PathFacts | undefined> => {
    const account = await ledger.find(agentId);
    return account === undefined ? undefined : createPathFacts(personaDirectory(account.directory));
  };
  return async (path: string, use: PathUse, agentId: string): Promise<JudgedPath> => {
    const placed = rules.place(path);
    if (!placed.ok) return { decision: deny(placed.code, `${placed.message}; name a path in the workspace`, ['path.text']) };
    const facts = placed.root === 'workspace' ? workspace : await factsFor(agentId);
    const fact: PathFact = facts?.look(placed.segments) ?? { kind: 'missing', path: placed.segments };
    const real = 'path' in fact ? { real: showPath(placed.root, fact.path) } : {};
    return { decision: rules.decide(path, use, fact), ...real };
  };
}
