/** Calls with the token added and the envelope taken off: path in, `data` out. */
import { Fault, toFault } from '#kernel/errors';
import { cancelledFault } from '../time-limit.ts';
import { answerFault } from './answer-fault.ts';
import type { ApiAnswer, Endpoint } from './endpoint.ts';
import { readData } from './rows.ts';
import { AmbiguousSend, type Transport } from './transport.ts';

export interface ApiCalls {
  /** @throws {Fault} what the API refused, or why there is no usable answer */
  get(path: string, signal: AbortSignal): Promise<unknown>;
  /** @throws {AmbiguousSend} when it may have arrived but no usable answer came back; {Fault} when it surely had no effect */
  post(path: string, signal: AbortSignal): Promise<unknown>;
  /** Whether this very endpoint can be reached, is recognised and takes the token; the fault says what is wrong. */
  check(endpoint: Endpoint, signal: AbortSignal): Promise<Fault | undefined>;
}

export interface ApiCallsOptions {
  readonly name: string;
  readonly tokenId: string;
  readonly token: () => Promise<string>;
  readonly transport: Transport;
}

export function createApiCalls({ name, tokenId, token, transport }: ApiCallsOptions): ApiCalls {
  async function readSecret(signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw cancelledFault(signal, `request to \`${name}\``);
    return checkSecret(await token().catch((thrown: unknown) => Promise.reject(unreadable(thrown, name))), name);
  }

  /** `answer` is what an error was answered with; its text may repeat what we sent. */
  function refusal(answer: ApiAnswer, secret: string): Fault {
    const hide = (text: string) => text.replaceAll(secret, '(secret)');
    return answerFault({ ...answer, statusText: hide(answer.statusText), body: hide(answer.body) }, name, tokenId);
  }

  return {
    async get(path, signal) {
      const secret = await readSecret(signal);
      const answer = await transport.get(path, header(tokenId, secret), signal);
      if (answer.status !== 200) throw refusal(answer, secret);
      return readData(answer.body);
    },
    async check(endpoint, signal) {
      try {
        const secret = await readSecret(signal);
        const answer = await transport.getFrom(endpoint, '/version', header(tokenId, secret), signal);
        if (answer.status !== 200) return refusal(answer, secret);
        readData(answer.body);
        return undefined;
      } catch (thrown) {
        return toFault(thrown);
      }
    },
    async post(path, signal) {
      const secret = await readSecret(signal);
      const answer = await transport.post(path, header(tokenId, secret), signal);
      if (answer.status !== 200) throw refusal(answer, secret);
      try {
        return readData(answer.body);
      } catch (thrown) {
        throw new AmbiguousSend(`the answer cannot be read (${toFault(thrown).message})`);
      }
    },
  };
}

function header(tokenId: string, secret: string): string {
  return `PVEAPIToken=${tokenId}=${secret}`;
}

function checkSecret(text: string, name: string): string {
  const secret = text.trim();
  if (/^[\x21-\x7e]{1,200}$/.test(secret)) return secret;
  const next = 'it must be the secret alone, as shown once when the token was created';
  throw new Fault('pve_token_missing', `the API token's secret for cluster \`${name}\` is empty or has characters that no token has`, {
    next,
  });
}

function unreadable(thrown: unknown, name: string): Fault {
  if (thrown instanceof Fault) return thrown;
  return new Fault('pve_token_missing', `the API token's secret for cluster \`${name}\` cannot be read: ${toFault(thrown).message}`, {
    next: 'set `tokenFile`, or store the token with the editor command',
  });
}
