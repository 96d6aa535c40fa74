/** Calls with the token added and the envelope taken off: path in, `data` out. */

import { Fault, faultMessage, toFault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { cancelledFault } from '../time-limit.ts';
import { answerFault, type LackedRight, rightLackedIn, rightsHint } from './answer-fault.ts';
import type { ApiAnswer, ApiRequest, ChangeMethod, Endpoint } from './endpoint.ts';
import { readData } from './rows.ts';
import { AmbiguousSend, type Transport } from './transport.ts';

export type ChangeRequest = Pick<ApiRequest, 'path' | 'form'> & { readonly method: ChangeMethod };

export interface ApiCalls {
  /** @throws {Fault} what the API refused, or why there is no usable answer */
  get(path: string, signal: AbortSignal): Promise<unknown>;
  /** @throws {AmbiguousSend} when it may have arrived but no usable answer came back; {Fault} when it surely had no effect */
  change(request: ChangeRequest, signal: AbortSignal): Promise<unknown>;
  /** Whether this very endpoint can be reached, is recognised and takes the token; the fault says what is wrong. */
  check(endpoint: Endpoint, signal: AbortSignal): Promise<Fault | undefined>;
  /** How an administrator gives the token this right. */
  grantHint(lacked: LackedRight, signal: AbortSignal): Promise<string>;
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
  async function refusal(answer: ApiAnswer, secret: string, signal: AbortSignal): Promise<Fault> {
    const hide = (text: string) => text.replaceAll(secret, '(secret)');
    const hidden = { ...answer, statusText: hide(answer.statusText), body: hide(answer.body) };
    const fault = answerFault(hidden, name, tokenId);
    const lacked = rightLackedIn(hidden);
    return lacked === undefined ? fault : new Fault(fault.code, faultMessage(fault), { next: await grantHint(lacked, signal) });
  }

  /** A 403 here is not explained in turn. */
  async function grantHint(lacked: LackedRight, signal: AbortSignal): Promise<string> {
    const read = async (path: string) => readData((await transport.get(path, header(tokenId, await readSecret(signal)), signal)).body);
    return rightsHint(lacked, { tokenId, read });
  }

  return {
    grantHint,
    async get(path, signal) {
      const secret = await readSecret(signal);
      const answer = await transport.get(path, header(tokenId, secret), signal);
      if (answer.status !== 200) throw await refusal(answer, secret, signal);
      return readData(answer.body);
    },
    async check(endpoint, signal) {
      try {
        const secret = await readSecret(signal);
        const answer = await transport.getFrom(endpoint, '/version', header(tokenId, secret), signal);
        if (answer.status !== 200) return await refusal(answer, secret, signal);
        readData(answer.body);
        return undefined;
      } catch (thrown) {
        return toFault(thrown);
      }
    },
    async change(request, signal) {
      const secret = await readSecret(signal);
      const answer = await transport.change({ ...request, authorization: header(tokenId, secret) }, signal);
      if (answer.status !== 200) throw await refusal(answer, secret, signal);
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
  throw new Fault('pve_token_missing', say`the API token's secret for cluster \`${name}\` is empty or has characters that no token has`, {
    next,
  });
}

function unreadable(thrown: unknown, name: string): Fault {
  if (thrown instanceof Fault) return thrown;
  return new Fault('pve_token_missing', say`the API token's secret for cluster \`${name}\` cannot be read: ${faultMessage(thrown)}`, {
    next: 'set `tokenFile`, or store the token with the editor command',
  });
}
