/** The id of a request as tools take it: any short text, checked before anything is looked up. */
import * as z from 'zod';
import { requestIdPattern } from '#kernel/request';
import { showPlainly } from '#kernel/text';

/** INVARIANT: not sanitized, unlike other texts: what is no id as it was sent must not become one (docs/design.md#requests-and-grants). */
export const requestIdArgument = z.string().meta({ description: 'For example `req-1a2b3c4d`.', pattern: '^req-[a-f0-9]{8}$' });

export function isRequestId(text: string): boolean {
  return requestIdPattern.test(text);
}

/** The answer to what is none, given without touching the store. */
export function invalidRequestId(id: string) {
  const message = 'not a request id; one looks like `req-1a2b3c4d`';
  return { message, result: { request_id: showPlainly(id, 40), status: 'invalid', message }, next: 'use `req-` and 8 hex digits' } as const;
}
