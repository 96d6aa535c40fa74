/** `witnesses`: where checkpoints of the trail go, so that somebody else can tell whether it goes on from them. */
import * as z from 'zod';

/** How often a witness gets the newest checkpoint, in seconds. */
const every = { everySeconds: z.number().int().min(10).max(86_400).default(300) };

const plainUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

const verifierKey = z
  .string()
  .regex(/^[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+$/, 'must be the witness’s verifier key, `NAME+ID+KEY` (https://c2sp.org/signed-note)');

/** What git runs for other transports is anybody's program. */
const remote = z
  .string()
  .regex(
    /^(?!-)(?:(?:https?|ssh|git|file):\/\/|\/|~\/|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:)/,
    'must be a URL of git (https, ssh, git, file) or an absolute path',
  );

/** SECURITY: machine-scoped, as `page` is: what a setting of the editor names, any extension could have written. */
export const witnessesSchema = z
  .array(
    z.union(
      [
        z.strictObject({ file: z.string().min(1), ...every }),
        z.strictObject({ witness: plainUrl, key: verifierKey, ...every }),
        z.strictObject({
          git: remote,
          branch: z
            .string()
            .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/)
            .default('checkpoints'),
          ...every,
        }),
        z.strictObject({ timestamp: plainUrl, ...every }),
      ],
      'must be `{ "file": "/elsewhere/checkpoints" }`, `{ "witness": "https://…", "key": "NAME+ID+KEY" }`, `{ "git": "ssh://…" }` or `{ "timestamp": "http://…" }`',
    ),
  )
  .max(20)
  .optional();

export type WitnessConfig = NonNullable<z.output<typeof witnessesSchema>>[number];
