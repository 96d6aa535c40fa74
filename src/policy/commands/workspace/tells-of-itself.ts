/** Asking a program for its version or its help: nothing else happens, whatever the program is for. */
import type { Decision } from '#kernel/decision';
import type { Invocation } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { single } from './shell-word.ts';

/** Groups of refused programs that may still say which version they are. */
const talkative: ReadonlySet<string> = new Set(['containers', 'daemon', 'debugger', 'packages', 'secrets']);
/** A file below the directory where the command runs. */
const ownFile = String.raw`[\w-][\w-]*(?:[/.][\w-]+)*`;
/** Settings that name no secret. */
const plainKey = String.raw`(?![\w.-]*(?:auth|token|pass|key|cert|secret|user))[a-z][a-z-]+`;
/** Longer forms that look at files of the workspace at most. */
const forms: Readonly<Record<string, RegExp>> = {
  // Without such an option the file is printed with the values of `.env` in it.
  docker: pattern(
    `compose (?:version|--version|(?:(?:-f|--file) ${ownFile} )*config (?:-q|--quiet|--services|--images|--volumes|--profiles))`,
  ),
  'docker-compose': pattern(`(?:(?:-f|--file) ${ownFile} )*config (?:-q|--quiet|--services|--images|--volumes|--profiles)`),
  kubectl: pattern(`(?:version --client(?:=true)?(?: (?:-o|--output=?) ?(?:json|yaml))?|kustomize ${ownFile}/?)`),
  'ansible-playbook': pattern(`(?:(?:-i )?${ownFile} )*--(?:syntax-check|list-tasks|list-tags|list-hosts)(?: (?:-i )?${ownFile})*`),
  'ansible-inventory': pattern(`(?:(?:-i )?${ownFile} )?--(?:graph|list)(?: (?:-i )?${ownFile})?`),
  'ansible-doc': /^(?:-l|-t \w+ -l|[\w.]+)$/,
  vagrant: /^validate$/,
  caddy: pattern(`(?:validate|fmt|adapt)(?: (?:--config )?${ownFile})?`),
  'systemd-analyze': pattern(`(?:verify(?: ${ownFile})+|(?:calendar|timespan|timestamp) [\\w *:/,.~-]+)`),
  lychee: pattern(`--offline(?: ${ownFile})*`),
  reuse: /^(?:lint|spdx)(?: (?:-q|--quiet|-j|--json))?$/,
  dlv: /^version$/,
  fastlane: /^lanes$/,
  pod: /^(?:lib lint|ipc spec [\w.]+|env)$/,
  simctl: /^list(?: \w+)*$/,
  'ssh-keygen': pattern(`-l(?:v)?f ${ownFile}\\.pub`),
  // `-0` only asks whether the process is there.
  kill: /^(?:-l(?: \w+)?|-0 (?:\0|\d+))$/,
  // Not by rule: `-h` and `-V` mean something else to a shell, to `ftp`, to `shutdown`.
  systemctl: /^--version$/,
  ip: /^-V$/,
  ssh: /^-V$/,
  tmux: /^-V$/,
  nc: /^-h$/,
  ncat: /^-h$/,
  curl: /^-[Vh]$/,
  wget: /^-[Vh]$/,
  npm: pattern(`(?:config|c) get ${plainKey}`),
  pnpm: pattern(`config get ${plainKey}`),
  yarn: pattern(`config get ${plainKey}`),
  rustup: /^(?:show(?: (?:active-toolchain|home|profile))?|(?:component|target|toolchain) list(?: --installed)?|which [\w-]+)$/,
  nvm: /^(?:current|ls|list|version|which [\w.]+)$/,
  fnm: /^(?:current|ls|list)$/,
  pyenv: /^(?:version|versions|which [\w.-]+|root)$/,
  rbenv: /^(?:version|versions|which [\w.-]+|root)$/,
  asdf: /^(?:current|list|which)(?: [\w-]+)?$/,
  mise: /^(?:(?:run|r) [\w:-]+|tasks|ls|current|list|which [\w-]+)$/,
  volta: /^(?:list|which [\w-]+)$/,
  conda: /^(?:list|info|env list)$/,
  pipx: /^list(?: --short)?$/,
  brew: pattern('(?:list(?: --versions)?(?: [\\w@.-]+)?|--prefix(?: [\\w@.-]+)?|--version)'),
  dpkg: pattern('(?:-l|-s|-L|--list|--print-architecture|--compare-versions)(?: [\\w.*+:~-]+)*'),
  'dpkg-query': pattern('(?:-l|-s|-L|-W)(?: [\\w.*+:~-]+)*'),
  apt: /^list --installed(?: [\w.*+-]+)?$/,
  'apt-cache': /^(?:policy|show|depends|rdepends|search) [\w.+-]+$/,
  rpm: /^-q(?:a|i|l)?(?: [\w.+-]+)*$/,
  hg: /^(?:status|st|diff|log|branch|branches|id|summary|heads|tip|root)(?: -(?:[mard]|l ?\d+|-stat))*$/,
  svn: pattern(`(?:status|st|diff|info)(?: -(?:q|u))?(?: ${ownFile})*`),
  cdk: /^(?:synth|list|ls)(?: (?:-q|--quiet|--all|--json|[A-Z][\w-]*))*$/,
  sam: pattern(`validate(?: (?:--lint|(?:-t|--template(?:-file)?) ${ownFile}))*`),
  ccache: /^(?:-s|-sv+|-V|-p|--show-(?:stats|config))$/,
  sccache: /^(?:-s|-V|--show-stats)$/,
};

/** Their version is a word of its own. SECURITY: `crontab version` would install that file, so only whom this list names. */
const versioned =
  /^(?:skaffold|kind|minikube|pulumi|flyctl|k3d|eksctl|multipass|podman|tilt|argocd|gh|helmfile|earthly|lima|colima|k9s|dagger|direnv|trivy|grype|syft|cosign)$/;

/** A short option alone says their version, or that there is no such option. */
const shortVersioned =
  /^(?:bundler?|deno|rustup|docker|docker-compose|podman|packer|terraform|tofu|vagrant|gem|uv|poetry|pip3?|pdm|cargo|go|helm|psql|mysql|redis-cli|git|java|flutter|kubectl|ansible|az|gh|dotnet)$/;

/** Command lines whose verbs have a help of their own. A word behind `run` or `exec` is another program's. */
const verbose =
  /^(?:docker|podman|kubectl|oc|gh|glab|aws|gcloud|az|doctl|heroku|vercel|netlify|flyctl|cdk|pulumi|minikube|kind|vagrant|conda|rustup|brew|redis-cli|svn|hg|ansible-galaxy)$/;
const verbHelp = /^[a-z][a-z-]* (?:(?<!\b(?:run|exec|create|start) )[a-z][a-z-]* )?--help$/;

/** Anchored; the pieces are patterns of their own. */
function pattern(source: string): RegExp {
  return new RegExp(`^${source}$`);
}

/** `group`: why the program is refused otherwise, or undefined. What speaks against the files that it names; undefined: it is no question. */
export function tellsOfItself(invocation: Invocation, group: string | undefined): readonly Decision[] | undefined {
  const { program, args, scope } = invocation;
  const texts = args.map((word) => single(word) ?? '\0');
  if (Object.hasOwn(forms, program) && forms[program]?.test(texts.join(' ')))
    return args.flatMap((word, index) => judgePath({ text: texts[index] ?? '', glob: word.glob, offset: word.offset }, 'read', scope));
  const isAsked = asksOfItself(program, texts);
  return isAsked && (group === undefined || talkative.has(group)) ? [] : undefined;
}

function asksOfItself(program: string, texts: readonly string[]): boolean {
  const [question = ''] = texts;
  if (texts.length !== 1) return verbose.test(program) && verbHelp.test(texts.join(' '));
  if (/^-[vV]$/.test(question) && shortVersioned.test(program)) return true;
  return isQuestion(question) || (question === 'version' && versioned.test(program));
}

/** `--version`, `--help`. */
export function isQuestion(text: string): boolean {
  return text === '--version' || text === '--help' || text === '-version';
}
