// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of shells and pipelines are among the texts
/**
 * Texts with a secret, and the part that must not be left. All made up: the letters come from a small generator, so that nothing here is a
 * credential of anybody and no scanner of the repository finds one.
 */

/** Deterministic characters of an alphabet. */
export function made(length: number, alphabet: string, seed = 7): string {
  let state = seed * 2_654_435_761;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += alphabet[(state >>> 8) % alphabet.length] ?? '';
  }
  return text;
}

const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const letters = `${lower}${lower.toUpperCase()}`;
const alnum = `${letters}${digits}`;
const hex = `${digits}abcdef`;
const base64 = `${alnum}+/`;
const base64url = `${alnum}-_`;

const an = (length: number, seed?: number) => made(length, alnum, seed);
const hx = (length: number, seed?: number) => made(length, hex, seed);
const url = (length: number, seed?: number) => made(length, base64url, seed);
const uuid = (seed: number) => `${hx(8, seed)}-${hx(4, seed + 1)}-4${hx(3, seed + 2)}-8${hx(3, seed + 3)}-${hx(12, seed + 4)}`;
const body = (seed: number) => (made(640, base64, seed).match(/.{1,64}/g) ?? []).join('\n');
const pem = (label: string, seed: number) => `-----BEGIN ${label}-----\nMII${body(seed)}\n-----END ${label}-----`;

type Example = readonly [what: string, text: string, secret: string];

/** A secret alone, in quotes, behind a word, in JSON and in a log line. */
function inPlaces(what: string, secret: string): readonly Example[] {
  return [
    [what, secret, secret],
    [`${what} in quotes`, `const key = "${secret}";`, secret],
    [`${what} in JSON text`, JSON.stringify({ value: secret }), secret],
    [`${what} in a log`, `2026-01-02T03:04:05Z info using ${secret} for upstream`, secret],
  ];
}

const tokens: readonly (readonly [string, string])[] = [
  ['MCP token', `bkm.laptop.${url(43, 1)}`],
  ['MCP token with dashes', `bkm.a-b_c9.${url(43, 2)}`],
  ['AWS key id', `AKIA${made(16, `${letters.toUpperCase()}${digits}`.replace(/[^A-Z0-9]/g, ''), 3)}`],
  ['GitHub token', `ghp_${an(36, 4)}`],
  ['GitHub app token', `ghs_${an(36, 5)}`],
  ['GitHub fine-grained token', `github_pat_${an(22, 6)}_${an(59, 7)}`],
  ['GitLab token', `glpat-${url(20, 8)}`],
  ['GitLab deploy token', `gldt-${url(20, 9)}`],
  ['Slack bot token', `xoxb-${made(12, digits, 10)}-${made(12, digits, 11)}-${an(24, 12)}`],
  ['Slack app token', `xapp-1-A${made(10, digits, 13)}-${made(13, digits, 14)}-${hx(64, 15)}`],
  ['OpenAI key', `sk-proj-${url(48, 16)}1T3BlbkFJ${url(48, 17)}`],
  ['OpenAI old key', `sk-${an(20, 18)}T3BlbkFJ${an(20, 19)}`],
  ['Anthropic key', `sk-ant-api03-${url(93, 20)}AA`],
  ['npm token', `npm_${an(36, 21)}`],
  ['Stripe key', `sk_live_${an(24, 22)}1`],
  ['Stripe restricted key', `rk_test_${an(24, 23)}1`],
  ['Google key', `AIza${url(35, 24)}`],
  ['Google OAuth token', `ya29.${url(100, 25)}`],
  ['PyPI token', `pypi-AgEIcHlwaS5vcmc${url(100, 26)}`],
  ['DigitalOcean token', `dop_v1_${hx(64, 27)}`],
  ['Telegram token', `${made(9, '123456789', 28)}:AA${url(33, 29)}`],
  ['Hugging Face token', `hf_${made(34, letters, 30)}`],
  ['SendGrid key', `SG.${an(22, 31)}.${an(43, 32)}`],
  ['Groq key', `gsk_${an(52, 33)}`],
  ['Grafana token', `glsa_${an(32, 34)}_${hx(8, 35)}`],
  ['Figma token', `figd_${url(40, 44)}`],
  ['Shopify token', `shpat_${hx(32, 45)}`],
  ['Docker token', `dckr_pat_${url(27, 46)}`],
  ['Databricks token', `dapi${hx(32, 47)}`],
  ['Linear key', `lin_api_${an(40, 48)}`],
  ['Notion token', `ntn_${made(11, digits, 49)}${an(35, 50)}`],
  ['Vault token', `hvs.${url(95, 51)}`],
  ['Vercel token', `vcp_${an(24, 52)}`],
  ['Cloudflare token', `cfut_${an(40, 53)}${hx(8, 54)}`],
  ['Tailscale key', `tskey-auth-${an(12, 36)}-${an(32, 37)}`],
  ['JWT', `eyJ${url(20, 38)}.eyJ${url(60, 39)}.${url(43, 40)}`],
  ['age key', `AGE-SECRET-KEY-1${made(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 41)}`],
  ['approver key', `ed25519-private:${url(64, 42)}`],
  ['Proxmox ticket', `PVE:root@pam:65A1B2C3::${made(340, base64, 43)}==`],
];

const keys: readonly Example[] = [
  'PRIVATE KEY',
  'RSA PRIVATE KEY',
  'EC PRIVATE KEY',
  'OPENSSH PRIVATE KEY',
  'ENCRYPTED PRIVATE KEY',
  'PGP PRIVATE KEY BLOCK',
]
  .map((label, index) => pem(label, 50 + index))
  .flatMap((key): readonly Example[] => [
    [`${key.slice(11, 40)} block`, `before\n${key}\nafter`, key.slice(40, 100)],
    [`${key.slice(11, 40)} in JSON`, JSON.stringify({ file: key }), JSON.stringify(key).slice(40, 100)],
  ]);

const pw = `Tr0ub4dor-${an(6, 60)}`;
const word = 'swordfish';

const contexts: readonly Example[] = (
  [
    `DB_PASSWORD=${pw}`,
    `export MYSQL_ROOT_PASSWORD=${pw}`,
    `password=${pw}`,
    `password = ${pw}`,
    `password: ${pw}`,
    `Password: ${pw}`,
    `"password": "${pw}"`,
    `'password': '${pw}',`,
    `password: "${pw}",`,
    `const password = '${pw}';`,
    `let apiKey = "${pw}"`,
    `api_key=${pw}`,
    `API_KEY: ${pw}`,
    `apikey="${pw}"`,
    `client_secret=${pw}&grant_type=x`,
    `"client_secret" : "${pw}"`,
    `access_token=${pw}`,
    `--password=${pw} --user x`,
    `--token=${pw}`,
    `--client-secret=${pw}`,
    `GITHUB_TOKEN=${pw}`,
    `NPM_TOKEN=${pw}`,
    `HCLOUD_TOKEN='${pw}'`,
    `SECRET_KEY="${pw}"`,
    `AWS_SECRET_ACCESS_KEY=${made(40, base64, 61)}`,
    `aws_secret_access_key = ${made(40, base64, 62)}`,
    `//registry.npmjs.org/:_authToken=${uuid(63)}`,
    `passphrase: correct-horse-${made(4, digits, 64)}`,
    `passwd: ${pw}`,
    `cipassword: ${pw}`,
    `PrivateKey = ${made(43, base64, 65)}=`,
    `client-key-data: ${made(60, base64, 66)}`,
    `requirepass_password := ${pw}`,
    `settings["password"] = "${pw}"`,
    `{:password => "${pw}"}`,
    `postgres://app:${pw}@db.internal:5432/app`,
    `redis://:${pw}@cache:6379/0`,
    `mysql+pymysql://root:${pw}@10.0.0.5/app`,
    `amqps://user:${pw}@mq/vhost`,
    `https://oauth2:${pw}@gitlab.example/group/repo.git`,
    `mongodb+srv://u:${pw}@cluster0.example/test?retryWrites=true`,
    `Authorization: Bearer ${pw}${an(8, 67)}`,
    `authorization: bearer ${hx(40, 68)}`,
    `-H "Authorization: Bearer ${url(40, 69)}"`,
    `Authorization: Basic ${made(24, base64, 70)}`,
    `"authorization": "Basic ${made(24, base64, 71)}=="`,
    `PVEAPIToken=root@pam!ci=${uuid(72)}`,
    `Authorization: PVEAPIToken=ops@pve!banksman=${uuid(73)}`,
    `ops@pve!banksman=${uuid(74)}`,
    `ops@pve!banksman: ${uuid(75)}`,
    `Cookie: PVEAuthCookie=PVE:ops@pve:65A1B2C3::${made(100, base64, 76)}==`,
    `CSRFPreventionToken: 65A1B2C3:${made(27, base64, 77)}`,
    `root:$6$${an(8, 78)}$${made(86, `${alnum}./`, 79)}:19700:0:99999:7:::`,
    `ann:$y$j9T$${made(22, `${alnum}./`, 80)}$${made(43, `${alnum}./`, 81)}:19700`,
    `web:$apr1$${an(8, 82)}$${made(22, `${alnum}./`, 83)}`,
    `app:$2b$12$${made(53, `${alnum}./`, 84)}`,
    `machine example.org login ann password ${pw}`,
    `sshpass -p ${pw} ssh root@host`,
    `sshpass -p '${pw}' scp x y:`,
    `mysql -u root -p${pw} app`,
    `curl -u admin:${pw} http://x`,
    `curl --user "admin:${pw}" http://x`,
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${made(86, base64, 85)}==;EndpointSuffix=x`,
    `https://hooks.slack.com/services/T${made(8, digits, 86)}/B${made(8, digits, 87)}/${an(24, 88)}`,
  ] as const
).map((text): Example => [text.slice(0, 50), text, secretIn(text)]);

const poor: readonly Example[] = [
  [`--password=${word}`, `mysql --password=${word} -u x`, word],
  ['POSTGRES_PASSWORD=…', `POSTGRES_PASSWORD=${word}`, word],
  ['a YAML password', `services:\n  db:\n    password: ${word}\n    port: 1`, word],
  ['a password that names itself in an environment', 'MYSQL_ROOT_PASSWORD=rootpassword\n', 'rootpassword'],
  ['a compose file', '      MYSQL_ROOT_PASSWORD: rootpassword\n', 'rootpassword'],
  ['a passphrase of words', 'passphrase: "correct horse battery staple"', 'correct horse'],
  ['a quote that is never closed', 'password="hunter22', 'hunter22'],
  ['brackets in it', 'password=ab[cd]ef', 'cd'],
  ['a dot in it', 'DB_PASSWORD=blue.whale', 'whale'],
  ['an ampersand in it', 'DB_PASSWORD=blue1&whale', 'whale'],
  ['it starts with a mark', 'DB_PASSWORD=!blue1whale', 'blue1whale'],
  ['it starts with a percent sign', 'password: %blue1whale', 'blue1whale'],
  ['a comment that switches scanners off', `# secretlint-disable\nkey npm_${an(36, 90)}`, an(36, 90)],
  ['the line before switches scanners off', `secretlint-disable-next-line\nnpm_${an(36, 91)}`, an(36, 91)],
  ['a colour inside', `PASSWORD=Tr0ub\u001b[31m4dor99`, '4dor99'],
  ['an invisible character inside', `gh\u200bp_${an(36, 92)}`, an(36, 92)],
];

/** The longest run of made-up characters: what follows the marks that stay. */
function secretIn(text: string): string {
  return text.includes(pw)
    ? pw
    : ((text.match(/[A-Za-z0-9+/._$-]{16,}/g) ?? []).toSorted((a, b) => b.length - a.length)[0]?.slice(-16) ?? text);
}

export const secretTexts: readonly Example[] = [
  ...tokens.flatMap(([what, secret]) => inPlaces(what, secret)),
  ...keys,
  ...contexts,
  ...poor,
];

const sha256 = (seed: number) => hx(64, seed);
const sri = (seed: number) => `sha512-${made(86, base64, seed)}==`;

/** Texts that only look like it: they must come out as they went in. */
export const harmlessTexts: readonly string[] = [
  ...[1, 2, 3].map((seed) => `commit ${hx(40, 100 + seed)}`),
  `${hx(7, 104)} Fix the token refresh`,
  `index ${hx(7, 105)}..${hx(7, 106)} 100644`,
  `Merge: ${hx(7, 107)} ${hx(7, 108)}`,
  uuid(110),
  `request id ${uuid(111)} took 5 ms`,
  `UPID:pve:0001A2B3:00C4D5E6:65A1B2C3:qmstop:100:ops@pve!banksman:`,
  `UPID:Home:003F2A11:1C9D0E77:66B0F00D:vzdump::root@pam:`,
  `sha256:${sha256(112)}`,
  `${sha256(113)}  disk.img`,
  `${hx(32, 114)}  file.iso`,
  `      "integrity": "${sri(115)}",`,
  `  integrity ${sri(116)}`,
  `checksum = "${sha256(117)}"`,
  `"resolved": "https://registry.npmjs.org/@scope/pkg/-/pkg-1.0.0.tgz#${hx(40, 118)}"`,
  `golang.org/x/net v0.1.0 h1:${made(43, base64, 119)}=`,
  `data:image/png;base64,iVBORw0KGgo${made(400, base64, 120)}`,
  `background: url(data:font/woff2;base64,${made(300, base64, 121)})`,
  `image: nginx@sha256:${sha256(122)}`,
  `AB:${made(62, 'ABCDEF0123456789', 123).match(/../g)?.join(':') ?? ''}`,
  `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${made(43, base64, 124)} ann@laptop`,
  `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ${made(300, base64, 125)} ann@laptop`,
  `SHA256:${made(43, base64, 126)} root@pve (ED25519)`,
  `-----BEGIN CERTIFICATE-----\n${body(127)}\n-----END CERTIFICATE-----`,
  `-----BEGIN PUBLIC KEY-----\n${body(128)}\n-----END PUBLIC KEY-----`,
  `ed25519:${url(43, 129)}`,
  `ETag: "${hx(32, 130)}"`,
  `vm-100-disk-0`,
  `local-lvm:vm-100-disk-0,size=32G,ssd=1`,
  `net0: virtio=BC:24:11:2E:C5:4A,bridge=vmbr0,firewall=1`,
  `smbios1: uuid=${uuid(131)}`,
  `vmgenid: ${uuid(132)}`,
  `local:backup/vzdump-qemu-100-2026_01_02-03_04_05.vma.zst`,
  `/dev/disk/by-id/ata-SAMSUNG_MZ7LH960HAJR-00005_S45NNE0M${made(6, digits, 133)}`,
  `wwn-0x5002538e${hx(8, 134)}`,
  `root@pam!monitoring`,
  `https://10.0.0.1:8006/api2/json/nodes`,
  `ssh://root@pve:22/`,
  `git@github.com:owner/repo.git`,
  `https://github.com/owner/repo/blob/${hx(40, 135)}/src/index.ts#L10-L20`,
  `http://localhost:3000/@vite/client`,
  `https://example.org/path?x=1&y=2#frag`,
  `mailto:ann@example.org`,
  `npm:@scope/pkg@1.2.3`,
  ...source(),
  ...prose(),
  ...configuration(),
];

function source(): readonly string[] {
  return [
    'password: string;',
    'password: string,',
    'password?: string;',
    'readonly password: string | undefined;',
    'token: string | null = null;',
    'token: Promise<string>;',
    'function login(user: string, password: string): Token {',
    'const token = getToken();',
    'const token = await readToken(file);',
    'let token = undefined;',
    'token = this.token;',
    'token = response.data.token;',
    'token = process.env.TOKEN;',
    'const secret = process.env["SECRET"];',
    'password: process.env.DB_PASSWORD,',
    "password = os.environ['DB_PASSWORD']",
    'password = os.getenv("DB_PASSWORD")',
    'login(user=user, password=password)',
    'client = Client(token=token, secret=secret_key)',
    'Client(api_key=settings.API_KEY)',
    'password: newPassword,',
    'password: hash(password),',
    'password = input("Password: ")',
    'password: z.string().min(8),',
    "password: { type: 'string' },",
    '"password": { "type": "string" }',
    "type: 'password',",
    '<input type="password" name="password" />',
    'cancellationToken: CancellationToken,',
    'token.isCancellationRequested',
    'if (token === undefined) return;',
    'if (password == expected) {',
    'if (password.length < 8) throw new Error();',
    'token => token.length',
    'const tokens: readonly Token[] = [];',
    'tokens = line.split(" ")',
    'max_tokens: 4096',
    'maxTokens=8000,',
    'def set_password(self, password: str) -> None:',
    'password: Optional[str] = None',
    'password=None',
    'secret: true',
    'secret = false',
    'String password = request.getParameter("password");',
    'private String password = null;',
    'token := r.Header.Get("X-Token")',
    'secret := os.Getenv("SECRET")',
    'let password: &str = args.password;',
    'password: String::new(),',
    'token: Option<String>,',
    'export PASSWORD=$(cat file)',
    'export PASSWORD="$DB_PASSWORD"',
    'PASSWORD=${DB_PASSWORD:-none}',
    'TOKEN=$TOKEN npm publish',
    'curl -H "Authorization: Bearer $TOKEN" https://x',
    'curl -H "Authorization: Bearer ${TOKEN}"',
    'Authorization: `Bearer ${token}`',
    'curl -u "$USER:$PASS" https://x',
    'docker run -u 1000:1000 --rm image',
    'token: ${{ secrets.GITHUB_TOKEN }}',
    'password: "{{ vault_password }}"',
    'password: !vault |',
    'SET PASSWORD=%DB_PASSWORD%',
    'password: <your-password>',
    'password: "********"',
    'api_key: your-api-key-here',
    'token: xxxxxxxxxxxxxxxx',
    'postgres://${USER}:${PASSWORD}@db/x',
    'mongodb://<user>:<password>@host/db',
    'class="sk-loading-indicator-wrapper-element"',
    '.sk-estimator-doc-link-container { }',
    "placeholder: 'Enter your password'",
    'password: "Enter your password"',
    '"password": "Password"',
    "token: 'access_token',",
    'const SECRET_FIELD = /password|secret/;',
    'eyJhbGciOi is how a token starts',
    'const key = keys[index];',
    'keyof typeof secrets',
    'tokenizer: GPT2Tokenizer',
    'passwordHash: hashOf(password)',
    'import { token } from "./token.ts";',
    'export type Secret = { readonly kind: string };',
    'secret: Secret;',
  ];
}

function prose(): readonly string[] {
  return [
    'the password was changed; the secret is out; a token is needed',
    'Password: must be at least 12 characters long',
    'Secret: how we made it',
    'The bearer of this letter',
    'Bearer authentication is required',
    'Use a bearer authentication-scheme header',
    'A token: the smallest unit of text',
    'passwords, tokens and secrets are never logged',
    'sudo: a password is required',
    'ann ALL=(ALL) NOPASSWD: ALL',
    'Permission denied (publickey,password).',
    '/etc/passwd: Permission denied',
    'Error: secret not found',
    'authentication failed: invalid token',
    'reset your password at https://example.org/reset',
    'password authentication is disabled',
    'key: value',
    'see sk-learn, risk-averse, task-force',
    'the xoxo-sign at the end',
    'npm_config_registry is set',
    'npm_package_version',
    'ghp is a prefix',
    'AKIA is a prefix',
    'hf_transfer is faster',
    'SG.1 and SG.2 are groups',
  ];
}

function configuration(): readonly string[] {
  return [
    'passwd:         files systemd',
    'shadow:         files',
    'password\t[success=1 default=ignore]\tpam_unix.so obscure yescrypt',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'tokenFile: ~/.config/banksman/lab.token',
    '"tokenFile": "/run/secrets/token"',
    'token_id: ops@pve!banksman',
    'password: /run/secrets/db_password',
    'secretName: tls-cert',
    'secretKeyRef:',
    'imagePullSecrets:',
    'key_name: id_ed25519',
    'private_key: ~/.ssh/id_ed25519',
    'ssl_certificate_key /etc/ssl/private/site.key;',
    'identityFile ~/.ssh/id_rsa',
    'uuid=8',
    'session_token_ttl: 3600',
    'token_count: 12345',
    'password_min_length: 12',
  ];
}
