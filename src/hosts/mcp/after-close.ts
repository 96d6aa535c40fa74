/** Hearing of a transport's end without taking the place of whoever listens already: a transport has one listener, not a list. */
import type { Transport } from '@modelcontextprotocol/server';

/** Call it after a server has been connected to the transport. */
export function afterClose(transport: Pick<Transport, 'onclose'>, listener: () => void): void {
  const before = transport.onclose;
  Object.assign(transport, {
    onclose: () => {
      before?.();
      listener();
    },
  });
}
