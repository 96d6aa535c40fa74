/** The streams on which a session's requests are answered, so that those whose requests were all cancelled can be ended. */
import type { RequestId } from '@modelcontextprotocol/server';

export interface OpenStreams {
  /** A stream that answers these requests, until the returned function is called. */
  add(ids: readonly RequestId[], close: () => void): () => void;
  /**
   * A cancelled request gets no answer, and the protocol's package ends a stream with its last answer only: the stream, and the slot it
   * holds, would stay until the client lets go of it, which clients before 2026-07-28 do not. LIMIT: of a batch, all must be cancelled.
   */
  cancel(id: RequestId): void;
}

interface Stream {
  readonly waiting: Set<RequestId>;
  readonly close: () => void;
}

export function createOpenStreams(): OpenStreams {
  const streams = new Map<RequestId, Stream>();
  return {
    add: (ids, close) => {
      const stream = { waiting: new Set(ids), close };
      for (const id of ids) streams.set(id, stream);
      return () => {
        // An id may have been used again meanwhile.
        for (const id of ids) if (streams.get(id) === stream) streams.delete(id);
      };
    },
    cancel: (id) => {
      const stream = streams.get(id);
      if (stream?.waiting.delete(id) && stream.waiting.size === 0) stream.close();
    },
  };
}
