/** A copy of a cluster in memory behind the very client that speaks to the real one: same paths, same checks, same words for refusals. */
import type { Clock } from '#kernel/ports/clock';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { AskCopy, CopyAnswer } from '#kernel/ports/live-reads';
import { createPortOver } from './create-proxmox-client.ts';
import type { ApiAnswer, ApiRequest } from './endpoint.ts';

export function createTwinPort(ask: AskCopy, { name, clock }: { readonly name: string; readonly clock: Clock }): ClusterPort {
  const send = async ({ method, path, form = {} }: Omit<ApiRequest, 'authorization'>): Promise<ApiAnswer> => {
    const [bare = '', query = ''] = path.split('?', 2);
    return asHttp(ask(method, decodeURIComponent(bare), { ...Object.fromEntries(new URLSearchParams(query)), ...form }));
  };
  const get = (path: string) => send({ method: 'GET', path });
  const transport = { get, change: send, getFrom: (_endpoint: unknown, path: string) => get(path) };
  return createPortOver(transport, { name, clock, tokenId: 'twin@pve!rehearsal' });
}

function asHttp({ status, data, errors }: CopyAnswer): ApiAnswer {
  if (status === 200) return { status, statusText: 'OK', body: JSON.stringify({ data: data ?? null }) };
  return {
    status,
    statusText: String(data),
    body: JSON.stringify({ data: null, message: String(data), ...(errors === undefined ? {} : { errors }) }),
  };
}
