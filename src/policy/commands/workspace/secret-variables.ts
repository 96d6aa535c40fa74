/** Variables of the environment that are named like secrets: printing one, or all, is reading a secret. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';

const secretName =
  /(?:^|_)(?:TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_KEY|ACCESS_KEY_ID|CREDENTIALS?|PAT)(?:_|$)/i;

export function isSecretVariable(name: string): boolean {
  return secretName.test(name);
}

export function printsEnvironment(offset: number, what: string): Decision {
  return askFor('SECRET_VARIABLE', offset, `${what}: variables of the environment may hold secrets`);
}
