/**
 * The folder to work in, as the client names it (`roots/list`): for a server that was started in `/` or a home directory, as many clients start theirs,
 * and was told no other. Over stdio only, where the client is whoever started this process. Asked for once, at the first call that needs a folder.
 */
import { fileURLToPath } from 'node:url';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { Fault, reasonOf } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { Log } from '#kernel/ports/log';

export interface ClientFolder {
  /** Whether there is none yet, and the client is to be asked. */
  isWanted(): boolean;
  /** A client that names nothing usable is not asked at each call. */
  want(again: boolean): void;
  /** Works in that directory from now on, where it may be one. @throws {Fault} `no_workspace`, `workspace_too_wide`, or why it cannot right now */
  moveTo(folder: string): Promise<void>;
  readonly log: Log;
}

const rootsKey = 'roots';
/** A client that does not answer holds a call up for no longer, in ms. */
const answerMs = 5_000;

/** @returns the question, where the client has to be asked by an answer of the call's (2026-07-28) */
export async function takeFolder(
  server: Server,
  { mcpReq }: ServerContext,
  folder: ClientFolder,
): Promise<InputRequiredResult | undefined> {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const isModern = CLIENT_CAPABILITIES_META_KEY in envelope;
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  if (!isJsonObject(capabilities) || capabilities['roots'] === undefined) return undefined;
  const answered = mcpReq.inputResponses?.[rootsKey];
  if (isModern && answered === undefined) return inputRequired({ inputRequests: { [rootsKey]: inputRequired.listRoots() } });
  try {
    const told = isModern ? answered : await server.listRoots(undefined, { timeout: answerMs, signal: mcpReq.signal });
    await firstUsable(foldersIn(told), folder);
  } catch (thrown) {
    folder.log.warn(`mcp: the client did not name its folder: ${reasonOf(thrown)}`);
  }
  return undefined;
}

/** In the client's order. */
async function firstUsable(folders: readonly string[], { isWanted, want, moveTo, log }: ClientFolder): Promise<void> {
  // Another call of the same moment was answered before.
  if (!isWanted()) return;
  want(false);
  for (const folder of folders) {
    try {
      return await moveTo(folder);
    } catch (thrown) {
      log.warn(`mcp: ${reasonOf(thrown)}`);
      // Such as a configuration that somebody is just writing: that is nothing of the folder's.
      if (!(thrown instanceof Fault && noFolder.includes(thrown.code))) return want(true);
    }
  }
}

const noFolder: readonly string[] = ['no_workspace', 'workspace_too_wide'];

/** So many of a client's roots are tried. */
const mostRoots = 16;

function foldersIn(answer: unknown): readonly string[] {
  if (!isJsonObject(answer) || !Array.isArray(answer['roots'])) return [];
  return answer['roots'].slice(0, mostRoots).flatMap((root: unknown) => {
    const uri = isJsonObject(root) ? root['uri'] : undefined;
    if (typeof uri !== 'string' || !uri.startsWith('file:')) return [];
    try {
      return [fileURLToPath(uri)];
    } catch {
      return [];
    }
  });
}
