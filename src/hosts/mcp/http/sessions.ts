/** Sessions of clients before 2026-07-28: a protocol server each, bound to the token that opened it. */
import type { McpToken } from '#app/people/mcp-tokens';
import type { HttpLimits, ProtocolServer } from './http-options.ts';

export interface Session<Connection> {
  readonly id: string;
  readonly token: McpToken;
  readonly server: ProtocolServer;
  readonly connection: Connection;
}

export interface Sessions<Connection> {
  /** Whether one more may be opened; closes the token's longest idle session to make room. */
  hasRoom(token: McpToken): Promise<boolean>;
  add(session: Session<Connection>): void;
  remove(id: string): void;
  /** The session, if this very token opened it: an id that leaks is worth nothing to another client. */
  find(id: string, token: McpToken): Session<Connection> | undefined;
  /** Marks it as in use until the returned function is called. */
  use(id: string): () => void;
  /** Closes what is idle too long and what belongs to a token that no longer counts. */
  sweep(isLive: (token: McpToken) => Promise<boolean>): Promise<void>;
  /** Tells every client that the list of tools is another one; one that cannot be reached is let be. */
  toolsChanged(): void;
  close(): Promise<void>;
}

interface Entry<Connection> {
  readonly session: Session<Connection>;
  uses: number;
  idleSince: number;
}

type SessionLimits = Pick<HttpLimits, 'sessions' | 'sessionsPerToken' | 'sessionIdleMs'>;

/** @param now monotonic, in ms */
export function createSessions<Connection>(limits: SessionLimits, now: () => number): Sessions<Connection> {
  const entries = new Map<string, Entry<Connection>>();
  const isIdle = (entry: Entry<Connection>, ms: number) => entry.uses === 0 && now() - entry.idleSince >= ms;
  const end = async ({ session }: Entry<Connection>): Promise<void> => {
    entries.delete(session.id);
    await session.server.close();
  };
  return {
    hasRoom: async (token) => {
      const mine = [...entries.values()].filter(({ session }) => session.token.name === token.name);
      const full = entries.size >= limits.sessions || mine.length >= limits.sessionsPerToken;
      if (!full) return true;
      const oldest = mine.filter((entry) => isIdle(entry, 0)).toSorted((a, b) => a.idleSince - b.idleSince)[0];
      if (oldest === undefined) return false;
      await end(oldest);
      return true;
    },
    add: (session) => void entries.set(session.id, { session, uses: 0, idleSince: now() }),
    remove: (id) => void entries.delete(id),
    find: (id, token) => {
      const session = entries.get(id)?.session;
      return session?.token.name === token.name && session.token.createdAt === token.createdAt ? session : undefined;
    },
    use: (id) => {
      const entry = entries.get(id);
      if (entry === undefined) return () => undefined;
      entry.uses += 1;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        entry.uses -= 1;
        entry.idleSince = now();
      };
    },
    sweep: async (isLive) => {
      for (const entry of [...entries.values()]) {
        if (isIdle(entry, limits.sessionIdleMs) || !(await isLive(entry.session.token))) await end(entry);
      }
    },
    toolsChanged: () => {
      for (const { session } of entries.values()) Promise.resolve(session.server.sendToolListChanged()).catch(() => undefined);
    },
    close: async () => {
      await Promise.all([...entries.values()].map(end));
    },
  };
}
