/** The output schema of every tool: the status object of design §8. */
import { type OutcomeStatus } from '#kernel/outcome';

const statuses: readonly OutcomeStatus[] = ['ok', 'denied', 'pending', 'error'];

/** JSON Schema 2020-12. `result` is whatever the tool returns, so it has a description and no type. */
export const outcomeSchema = {
  type: 'object',
  properties: {
    status: {
      type: 'string',
      enum: [...statuses],
      description: 'ok: done. denied: it will not happen. pending: a person has been asked. error: it failed.',
    },
    code: { type: 'string', description: 'Stable snake_case code; `ok` for success.' },
    message: { type: 'string', description: 'What happened, in one sentence.' },
    request_id: { type: 'string', pattern: '^req-[a-f0-9]{8}$', description: 'The request that a person has been asked to decide.' },
    next: { type: 'string', description: 'What to do next.' },
    result: { description: 'What the tool returned: a JSON value.' },
  },
  required: ['status', 'code', 'message'],
  additionalProperties: false,
} as const;
