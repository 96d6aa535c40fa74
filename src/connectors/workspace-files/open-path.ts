/** A caller's path, walked to and decided at the moment of use; what follows works on what was pinned. */
import { Fault } from '#kernel/errors';
import type { PathFact } from '#kernel/ports/path-facts';
import type { FileScope } from '#kernel/ports/workspace';
import type { PathUse } from '#kernel/resource';
import { errnoOf, fileFault, notFound } from './file-faults.ts';
import { type PathRoot, type PathRules, showPath } from './path-rules.ts';
import type { PersonaRoom, PersonaRooms } from './persona-rooms.ts';
import type { Pinning } from './pin-root.ts';
import { type Walked, walkPath } from './walk-path.ts';

export interface FilePlaces {
  readonly rules: PathRules;
  /** Absolute, links resolved. */
  readonly workspaceRoot: string;
  readonly personas: PersonaRooms;
  readonly pinning: Pinning;
}

export interface PathRequest {
  readonly path: string;
  readonly use: PathUse;
  readonly scope: FileScope;
}

export interface OpenedPath extends Walked {
  readonly root: PathRoot;
  /** The agent's sandbox, where the path is in it. */
  readonly room?: PersonaRoom;
}

/** How often a path that changes under way is walked to anew. */
const mostTries = 8;

/**
 * Opens the path, lets `work` use it, and closes it. Where somebody swaps things under way, all of it is done again, decision included.
 * @throws {Fault} the path policy's codes, `PATH_CHANGED`, and what `work` throws
 */
export async function withPath<T>(places: FilePlaces, request: PathRequest, work: (opened: OpenedPath) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(places, request, work);
    } catch (thrown) {
      const fault = fileFault(thrown, request.path);
      if (errnoOf(fault) !== 'PATH_CHANGED' || tries >= mostTries) throw fault;
    }
  }
}

async function once<T>(places: FilePlaces, request: PathRequest, work: (opened: OpenedPath) => Promise<T>): Promise<T> {
  const placed = places.rules.place(request.path);
  if (!placed.ok) throw refusal(placed.code, placed.message);
  const room = placed.root === 'persona' ? await places.personas.room(request.scope.agentId, request.use === 'write') : undefined;
  // Nothing was ever written there.
  if (placed.root === 'persona' && room === undefined) throw notFound(request.path);
  const walked = walkPath({ path: room?.path ?? places.workspaceRoot, pinning: places.pinning }, placed.segments);
  try {
    requireAllowed(places.rules, request, placed.root, walked.fact);
    return await work({ ...walked, root: placed.root, ...(room === undefined ? {} : { room }) });
  } finally {
    walked.close();
  }
}

/**
 * @throws {Fault} the path policy's codes
 * SECURITY: what the pipeline decided was about another moment; this is the decision that counts for what is open now.
 */
export function requireAllowed(rules: PathRules, { path, use, scope }: PathRequest, root: PathRoot, fact: PathFact): void {
  const decision = rules.decide(path, use, fact);
  if (decision.effect === 'deny') throw refusal(decision.code, `\`${path}\`: ${decision.reason}`);
  if (decision.effect === 'ask' && !('path' in fact && scope.agreed === showPath(root, fact.path))) {
    throw refusal(decision.code, `\`${path}\`: ${decision.reason}`);
  }
}

function refusal(code: string, message: string): Fault {
  return new Fault(code, message, { audience: 'user', next: 'do not try another way; ask the user' });
}
