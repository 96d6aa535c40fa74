/** File names that stand for secrets. Names only: a key in `notes.txt` is for the redaction to find. */
import type { Segments } from '#kernel/ports/path-facts';

/** Base names in lower case, as shell patterns with `*` only (also handed to `grep --exclude`). */
export const secretNames: readonly string[] = [
  ...[
    '.env',
    '.env.*',
    '*.env',
    '.env~',
    '.netrc',
    '_netrc',
    '.npmrc',
    '.pypirc',
    '.pgpass',
    '.my.cnf',
    '.htpasswd',
    '.git-credentials',
    '.dockercfg',
    '.vault-token',
    '.terraformrc',
    '.s3cfg',
    '.boto',
  ],
  ...[
    'id_rsa*',
    'id_dsa*',
    'id_ecdsa*',
    'id_ed25519*',
    'ssh_host_*_key',
    '*.pem',
    '*.key',
    '*.p12',
    '*.pfx',
    '*.jks',
    '*.keystore',
    '*.kdbx',
    '*.ppk',
    '*.p8',
    '*.pkcs12',
    '*.agekey',
    '*.token',
  ],
  ...[
    'credentials',
    'credentials.json',
    'credentials.toml',
    'client_secret*.json',
    'service-account*.json',
    'service_account*.json',
    'serviceaccount*.json',
    '*firebase-adminsdk*.json',
    'secring.gpg',
    'wallet.dat',
    'pgpass.conf',
    'secrets.json',
    'secrets.yml',
    'secrets.yaml',
    'secrets.toml',
    'kubeconfig',
    'terraform.tfstate*',
    'shadow',
    'gshadow',
  ],
  ...[
    '.bash_history',
    '.zsh_history',
    '.python_history',
    '.node_repl_history',
    '.psql_history',
    '.mysql_history',
    '.rediscli_history',
    '.authinfo',
    '.authinfo.gpg',
    'state.vscdb',
  ],
];

/** Directories in which every file is one. */
export const secretDirectories: readonly string[] = ['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker'];

/** Places of credentials below a home. */
const secretPlaces: readonly string[] = [
  '.config/(?:banksman|gh|gcloud|git/credentials|op|containers/auth.json|doctl|hub|rclone|sops|age|helm|configstore|pypoetry/auth.toml|netlify|stripe|composer/auth.json|google-chrome|chromium|BraveSoftware)',
  '.local/(?:state|share)/(?:banksman|keyrings|kwalletd|pypoetry)',
  '.cargo/credentials(?:.toml)?',
  '.gem/credentials',
  '.terraform.d/credentials.tfrc.json',
  '.m2/settings-security.xml',
  '.mozilla/firefox',
  'library/keychains',
  '.git/credentials',
];
const anySecretPlace = new RegExp(
  `(?:^|/)(?:${secretPlaces.map((place) => place.replace(/\./g, '\\.').toLowerCase()).join('|')})(?:/|$)`,
  's',
);

const harmless = /(?:^\.env(?:\.[a-z0-9]+)*\.(?:example|sample|template|dist|defaults|schema)|\.pub)$/;
const anySecretName = new RegExp(`^(?:${secretNames.map((name) => name.replace(/[.~]/g, '\\$&').replaceAll('*', '.*')).join('|')})$`, 's');

/** Whether the path names a secret by what it is called, whatever its case. */
export function isSecretPath(segments: Segments): boolean {
  const folded = segments.map(foldName);
  const name = folded.at(-1) ?? '';
  if (anySecretPlace.test(folded.join('/'))) return true;
  if (folded.slice(0, -1).some((directory) => secretDirectories.includes(directory))) return !harmless.test(name);
  return !harmless.test(name) && anySecretName.test(name);
}

const secretHint =
  /(?:^|[^a-z0-9])(?:env|pem|netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|id_(?:rsa|dsa|ecdsa|ed25519)|p8|p12|pfx|jks|kdbx|ppk|tfstate|kubeconfig)(?:[^a-z0-9]|$)/i;

/** Whether a pattern of a search (`.env*`, `\\.pem$`) picks out secrets. */
export function hintsAtSecret(pattern: string): boolean {
  if (isSecretPath(pattern.split('/'))) return true;
  return (secretHint.test(pattern) || picksSecret(pattern)) && !harmless.test(pattern.toLowerCase());
}

/** Names that a pattern with little in it but wildcards may be after. */
export const commonSecrets: readonly string[] = [
  '.env',
  '.env.local',
  'id_rsa',
  'id_ed25519',
  '.npmrc',
  '.netrc',
  '.pgpass',
  'server.pem',
  'server.key',
];

/** `id_*`, `.np*`: `*` and `?` as in a shell. Of a pattern with fewer than two plain characters nobody can tell. */
function picksSecret(pattern: string): boolean {
  const plain = pattern.replace(/[*?]/g, '');
  if (plain.length < 2 || plain === pattern || pattern.length > 60) return false;
  const expression = pattern
    .replace(/\*+/g, '*')
    .replace(/[*?]|[\\^$.+|(){}[\]]/g, (sign) => ({ '*': '.*', '?': '.' })[sign] ?? `\\${sign}`);
  const matcher = new RegExp(`^${expression}$`, 'i');
  return commonSecrets.some((name) => matcher.test(name));
}

/** One spelling for names that some file system takes for the same: compatibility forms, case, ignorable characters. */
export function foldName(name: string): string {
  // Most names are plain ASCII: nothing to normalize.
  const composed = /^[ -~]*$/.test(name) ? name : name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return composed.toLowerCase().replace(/[. ]+$/, '');
}
