/**
 * Which browser looks. A browser that was enrolled has a device key, which never leaves it; with a signature of that it may look and deny for
 * a while. No cookie: those are sent to every port of a host, and the agents' servers have some.
 */
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import type { PasskeyApprover, PasskeyDesk } from '#kernel/approval/passkey';
import { say } from '#kernel/text/message';
import { Refused, sha256 } from './door.ts';

export interface Session {
  /** Stands for the browser where clients are counted. */
  readonly client: string;
  readonly approver: PasskeyApprover;
  /** What has to be typed for a card, as it was shown here; the code of each showing is another. */
  readonly toType: Map<string, string>;
  /** The challenges it was given and has not answered. */
  readonly begun: Set<string>;
}

export interface DeviceProof {
  /** The device key: SPKI, base64url. */
  readonly device: string;
  readonly nonce: string;
  /** Over `proofText`, base64url, as WebCrypto gives it (IEEE P1363). */
  readonly signature: string;
}

export interface Sessions {
  /** Good once, for two minutes. */
  nonce(): string;
  /** @returns the session's token. @throws {Refused} 401 */
  open(proof: DeviceProof): Promise<string>;
  /** As its approver is pinned at this moment. @throws {Refused} 401 */
  of(token: string): Promise<Session>;
}

const nonceLifeMs = 120_000;
const sessionLifeMs = 12 * 3_600_000;
/** The oldest go first: a flood of nonces costs whoever is slow another try. */
const mostNonces = 5_000;
const mostSessions = 500;

interface Entry extends Pick<Session, 'toType' | 'begun'> {
  readonly device: string;
  readonly until: number;
}

export function createSessions(desk: Pick<PasskeyDesk, 'origin' | 'approvers'>): Sessions {
  const nonces = new Map<string, number>();
  const sessions = new Map<string, Entry>();
  const approverOf = async (device: string) => (await desk.approvers()).find((approver) => approver.device === device);
  return {
    nonce: () => {
      const nonce = randomBytes(32).toString('base64url');
      nonces.set(nonce, performance.now() + nonceLifeMs);
      dropOldest(nonces, mostNonces);
      return nonce;
    },
    open: async (proof) => {
      // A browser without a key says so.
      if (proof.device === '') throw notEnrolled();
      const isFresh = (nonces.get(proof.nonce) ?? 0) > performance.now();
      nonces.delete(proof.nonce);
      if (!isFresh || !isSigned(proof, desk.origin))
        throw new Refused(401, 'bad_proof', say`this browser’s key did not prove itself: load the page again`);
      if ((await approverOf(proof.device)) === undefined) throw notEnrolled();
      const token = randomBytes(32).toString('base64url');
      sessions.set(sha256(token), { device: proof.device, until: performance.now() + sessionLifeMs, toType: new Map(), begun: new Set() });
      dropOldest(sessions, mostSessions);
      return token;
    },
    of: async (token) => {
      const client = sha256(token);
      const entry = sessions.get(client);
      if (entry === undefined || entry.until <= performance.now()) {
        sessions.delete(client);
        throw new Refused(401, 'no_session', say`this page was open for long, or the service was started anew: load it again`);
      }
      // SECURITY: asked each time. Who was taken out of the configuration looks no longer.
      const approver = await approverOf(entry.device);
      if (approver === undefined) throw notEnrolled();
      return { ...entry, client, approver };
    },
  };
}

/** What a device key signs. The origin in it: a proof for one page is none for another. */
function proofText(origin: string, nonce: string): string {
  return `banksman page\n${origin}\n${nonce}`;
}

function isSigned({ device, nonce, signature }: DeviceProof, origin: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(device, 'base64url'), format: 'der', type: 'spki' });
    const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    const message = Buffer.from(proofText(origin, nonce));
    return isP256 && verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  } catch {
    // Not a key at all.
    return false;
  }
}

function notEnrolled(): Refused {
  return new Refused(401, 'not_enrolled', say`this browser is not enrolled here, or no longer`);
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
