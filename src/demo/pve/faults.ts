/** Faults of the HTTP layer, for tests of a client: each rule says which requests it hits and how often. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { emptyReply, type Reply, send } from './http.ts';

export type ApiEffect =
  /** Answers late, by so many milliseconds. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** Takes the request, does nothing, never answers. */
  | { readonly kind: 'hang' }
  /** Does what was asked, then never answers: a client must not assume it did not happen. */
  | { readonly kind: 'silence' }
  /** Does what was asked, sends half of the answer, resets the connection. */
  | { readonly kind: 'reset' }
  /** Does what was asked and answers 200 with text that is no JSON. */
  | { readonly kind: 'malformed' }
  /** The `pveproxy` of a node (absent: the one that was asked) dies instead of answering; its node and tasks live on. */
  | { readonly kind: 'proxy-dies'; readonly node?: string }
  /** The token that asks is deleted just before: 401 from here on. */
  | { readonly kind: 'token-revoked' }
  /** Answers with this status (500, 595, 596, 599, 401, …) instead of doing it. */
  | { readonly kind: 'status'; readonly status: number; readonly reason: string; readonly body?: string };

export interface ApiFault {
  /** `GET`, `POST`, …; absent: all. */
  readonly method?: string;
  /** Regular expression on the path below `/api2/json`, decoded; absent: all. */
  readonly path?: string | RegExp;
  /** The node whose endpoint was asked; absent: all. */
  readonly endpoint?: string;
  /** How often it strikes; absent: until removed. */
  readonly times?: number;
  readonly effect: ApiEffect;
}

export interface FaultHandle {
  /** How often it struck. */
  hits(): number;
  remove(): void;
}

interface Rule {
  readonly fault: ApiFault;
  hits: number;
}

export class ApiFaults {
  private rules: Rule[] = [];

  add(fault: ApiFault): FaultHandle {
    const rule: Rule = { fault, hits: 0 };
    this.rules.push(rule);
    return {
      hits: () => rule.hits,
      remove: () => {
        this.rules = this.rules.filter((one) => one !== rule);
      },
    };
  }

  clear(): void {
    this.rules = [];
  }

  /** The effect for this request, counted; undefined for none. */
  strike(method: string, path: string, endpoint: string): ApiEffect | undefined {
    const rule = this.rules.find(
      (one) => one.hits < (one.fault.times ?? Number.POSITIVE_INFINITY) && hits(one.fault, { method, path, endpoint }),
    );
    if (rule === undefined) return undefined;
    rule.hits += 1;
    return rule.fault.effect;
  }
}

function hits(fault: ApiFault, request: { readonly method: string; readonly path: string; readonly endpoint: string }): boolean {
  return (
    (fault.method === undefined || fault.method === request.method) &&
    (fault.path === undefined || new RegExp(fault.path).test(request.path)) &&
    (fault.endpoint === undefined || fault.endpoint === request.endpoint)
  );
}

/** The answer that replaces the real one before anything is done; undefined: go on. `'hang'`: never answer. */
export function replaced(effect: ApiEffect | undefined): Reply | 'hang' | undefined {
  if (effect?.kind === 'hang') return 'hang';
  if (effect?.kind !== 'status') return undefined;
  return {
    ...emptyReply(effect.status, effect.reason),
    body: effect.body ?? '',
    contentType: effect.body === undefined ? undefined : 'application/json;charset=UTF-8',
  };
}

/** Sends an answer as the effect has it. */
export async function sendSpoiled(request: IncomingMessage, response: ServerResponse, reply: Reply, effect: ApiEffect): Promise<void> {
  if (effect.kind === 'silence') return;
  if (effect.kind === 'latency') await delay(effect.ms, response);
  if (effect.kind === 'reset') {
    const bytes = Buffer.from(reply.body);
    response.writeHead(reply.status, { 'Content-Type': 'application/json;charset=UTF-8', 'Content-Length': String(bytes.length) });
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.destroy());
    return;
  }
  if (response.destroyed) return;
  send(request, response, effect.kind === 'malformed' ? { ...reply, status: 200, reason: 'OK', body: '{"data":[{"vmid":100,' } : reply);
}

/** Waits, or gives up when the connection closes; the timer goes either way. */
function delay(ms: number, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
