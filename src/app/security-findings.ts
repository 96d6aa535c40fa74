/** Doctor's look at what people set in the store: what counts, and what somebody wrote there that does not. */
import { toFault } from '#kernel/errors';
import type { Finding, SecuritySettings } from './app.ts';

export async function securityFindings(security: Pick<SecuritySettings, 'level' | 'rules'>): Promise<readonly Finding[]> {
  try {
    const [{ level, from, by, warning }, rules] = await Promise.all([security.level(), security.rules()]);
    const origin = from === 'configuration' ? 'the configuration' : `the store${by === undefined ? '' : `, set by ${by}`}`;
    return [
      warning === undefined
        ? { topic: 'security level', state: 'ok', message: `${level}, from ${origin}` }
        : { topic: 'security level', state: 'warning', message: warning, remedy: 'set it again with `banksman level set`' },
      ...rules.flatMap((rule): Finding[] => {
        if (rule.warning === undefined) return [];
        const remedy = 'set it again, or remove it, with `banksman auto-approve`';
        return [{ topic: 'auto-approve', state: 'warning', message: `\`${rule.pattern}\` (${rule.action}): ${rule.warning}`, remedy }];
      }),
    ];
  } catch (thrown) {
    return [
      {
        topic: 'security level',
        state: 'failed',
        message: `cannot be read, so calls are handled as at strict: ${toFault(thrown).message}`,
      },
    ];
  }
}
