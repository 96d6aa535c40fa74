/** The output schema of every tool: the outcome (docs/design.md#words). */
import type { OutcomeStatus } from '#kernel/outcome';

const statuses: readonly OutcomeStatus[] = ['ok', 'denied', 'pending', 'error'];

const jsonTypes = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const;

/**
 * JSON Schema 2020-12. `result` is whatever JSON value the tool returns. It is all explained once, in the
 * server's instructions, and not in every tool again: clients put the whole list before the model.
 */
export const outcomeSchema = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: [...statuses] },
    code: { type: 'string' },
    message: { type: 'string' },
    request_id: { type: 'string', pattern: '^req-[a-f0-9]{8}$' },
    next: { type: 'string' },
    effect: { type: 'object' },
    result: { anyOf: jsonTypes.map((type) => ({ type })), description: 'What the tool returned.' },
  },
  required: ['status', 'code', 'message'],
  additionalProperties: false,
} as const;
