/** File names that stand for secrets. Names only: a key in `notes.txt` is for the redaction to find. */
import type { Segments } from '#kernel/ports/path-facts';
import { splitNames } from '#kernel/text/text';

/** Base names in lower case, as shell patterns with `*` only. */
export const secretNames: readonly string[] = splitNames(`
  .env .env.* *.env .env~ .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .git-credentials .dockercfg .vault-token .terraformrc
  .s3cfg .boto
  id_rsa* id_dsa* id_ecdsa* id_ed25519* ssh_host_*_key *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.p8 *.pkcs12 *.agekey *.token
  credentials credentials.json credentials.toml client_secret*.json service-account*.json service_account*.json serviceaccount*.json
  *firebase-adminsdk*.json secring.gpg wallet.dat pgpass.conf secrets.json secrets.yml secrets.yaml secrets.toml kubeconfig
  terraform.tfstate* shadow gshadow
  .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .rediscli_history .authinfo .authinfo.gpg
  state.vscdb`);

/** Directories in which every file is one. */
export const secretDirectories: readonly string[] = ['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker'];

/** Places of credentials below a home. */
const secretPlaces: readonly string[] = [
  `.config/(?:${[
    'banksman|gh|gcloud|git/credentials|op|containers/auth.json|doctl|hub|rclone|sops|age|helm|configstore|pypoetry/auth.toml|netlify',
    'stripe|composer/auth.json|google-chrome|chromium|BraveSoftware',
  ].join('|')})`,
  '.local/(?:state|share)/(?:banksman|keyrings|kwalletd|pypoetry)',
  ...splitNames(`.cargo/credentials(?:.toml)? .gem/credentials .terraform.d/credentials.tfrc.json .m2/settings-security.xml
    .mozilla/firefox library/keychains .git/credentials`),
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

/** One spelling for names that some file system takes for the same: compatibility forms, case, ignorable characters. */
export function foldName(name: string): string {
  // Most names are plain ASCII: nothing to normalize.
  const composed = /^[ -~]*$/.test(name) ? name : name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return composed.toLowerCase().replace(/[. ]+$/, '');
}
