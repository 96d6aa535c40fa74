/** The bearer token of a request (RFC 6750 §2.1). Never from the query: addresses end up in logs and histories. */
import type { IncomingHttpHeaders } from 'node:http';

export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer ([A-Za-z0-9._~+/-]{1,200}=*)$/i.exec(authorization ?? '')?.[1];
}
