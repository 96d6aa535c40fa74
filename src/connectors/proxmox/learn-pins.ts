import { isJsonObject } from '#kernel/json';
import type { Endpoint } from './endpoint.ts';
import type { Pins } from './pins.ts';
import { readData, readObjects } from './rows.ts';

/**
 * Asks verified endpoints for the certificates of the cluster's nodes (`ssl_fingerprint` of `GET /nodes`), the first that answers counts.
 * SECURITY: `endpoints` verify their own peers as they send, so what is learned always comes from a node that is pinned already.
 */
export async function learnPins(pins: Pins, endpoints: readonly Endpoint[], authorization: string, signal: AbortSignal): Promise<void> {
  for (const endpoint of endpoints) {
    const fingerprints = await readFingerprints(endpoint, authorization, signal);
    if (fingerprints.length > 0) {
      pins.learn(fingerprints);
      return;
    }
  }
}

async function readFingerprints(endpoint: Endpoint, authorization: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const answer = await endpoint.send({ method: 'GET', path: '/nodes', authorization }, signal);
    if (answer.status !== 200) return [];
    const rows = readObjects(readData(answer.body)).filter(isJsonObject);
    return rows.map((row) => row['ssl_fingerprint']).filter((one): one is string => typeof one === 'string');
  } catch {
    // Another endpoint may know; if none does, the mismatch that led here is what gets reported.
    return [];
  }
}
