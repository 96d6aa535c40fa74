/** Descriptions of infrastructure: formatting, checking and rendering them is local, applying them is not. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

export const infrastructureRules: readonly ToolRule[] = [
  {
    id: 'workspace.terraform',
    programs: ['terraform', 'tofu'],
    paths: 'write',
    verbs: [
      { verbs: words('fmt validate version -version --version') },
      {
        verbs: words(
          'init plan apply destroy import refresh get login logout providers state workspace output show taint untaint graph console force-unlock test',
        ),
        concern: 'network_blocked',
        message: 'needs the network or holds secrets',
      },
    ],
    justification: 'formats and checks',
    match: ['terraform fmt -check -recursive', 'terraform validate'],
    notMatch: ['terraform apply', 'terraform init', 'terraform -chdir=/outside fmt'],
  },
  {
    id: 'workspace.helm',
    programs: ['helm'],
    paths: 'write',
    textOptions: ['--set', '--set-string', '-n', '--namespace', '--kube-version', '-a', '--api-versions', '-s'],
    cautions: [
      {
        word: /^--(?:post-renderer|kube|registry-config|repo|validate|dependency-update|ca-file|cert-file|key-file|plugin)/,
        concern: 'runs_other_code',
        message: 'runs another program or reaches a cluster',
      },
      { word: /^oci:/, concern: 'network_blocked', message: 'an address' },
    ],
    verbs: [
      { verbs: words('lint template package create version show --version --help') },
      {
        verbs: ['dependency', 'dependencies', 'dep'],
        cautions: [{ word: /^(?:update|up|build)$/, concern: 'network_blocked', message: 'needs the network' }],
      },
      {
        verbs: words(
          'install upgrade uninstall delete rollback list ls get status history test repo pull push search registry login plugin env',
        ),
        concern: 'network_blocked',
        message: 'needs a cluster or the network',
      },
    ],
    justification: 'checks and renders charts of the workspace',
    match: ['helm lint charts/app', 'helm template app charts/app -f values.yaml'],
    notMatch: ['helm install x charts/app', 'helm template x y --post-renderer ./evil', 'helm plugin install x', 'helm repo add x y'],
  },
  {
    id: 'workspace.manifests',
    programs: ['kustomize'],
    paths: 'write',
    cautions: [
      {
        word: /^--(?:enable-(?:exec|helm|alpha-plugins|star)|helm-command|load-restrictor|network|mount)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
      { word: /^(?:[\w-]+\.)+(?:com|org|net|io|dev|cloud)[/:]|[?&]ref=|^\w+@|^git::/, concern: 'network_blocked', message: 'an address' },
    ],
    verbs: [{ verbs: ['build', 'version', 'cfg'] }],
    justification: 'renders, formats and checks descriptions of the workspace',
    match: ['kustomize build overlays/dev'],
    notMatch: ['kustomize build --enable-exec .', 'kustomize build https://x/y', 'kustomize edit add resource x'],
  },
  {
    id: 'workspace.semgrep',
    programs: ['semgrep', 'opengrep'],
    paths: 'write',
    takesAnyVerb: true,
    cautions: [
      {
        word: /^(?:--(?:config|f)=)?(?:auto|[prs]\/.*|supply-chain|secrets)$/,
        concern: 'network_blocked',
        message: 'rules from the network',
      },
    ],
    verbs: [
      { verbs: words('login logout ci publish install-semgrep-pro lsp mcp'), concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'checks the project by rules of the project',
    match: ['semgrep --config rules/ --error src', 'semgrep scan --config .semgrep.yml --metrics=off'],
    notMatch: ['semgrep --config auto', 'semgrep --config=p/ci src', 'semgrep ci', 'semgrep --config https://x/y src'],
  },
  {
    id: 'workspace.dvc',
    programs: ['dvc'],
    paths: 'write',
    verbs: [
      { verbs: words('status repro dag diff stage params metrics plots list-local doctor version --version root checkout commit') },
      {
        verbs: words('push pull fetch get get-url import import-url remote add update list config exp studio'),
        concern: 'network_blocked',
        message: 'needs the network',
      },
    ],
    justification: "runs the project's own stages, which the sandbox holds",
    match: ['dvc status', 'dvc repro --dry'],
    notMatch: ['dvc push', 'dvc get x y', 'dvc remote add x s3://y'],
  },
  {
    id: 'workspace.alerts',
    programs: ['promtool', 'amtool'],
    paths: 'write',
    verbs: [{ verbs: words('check check-config test version --version') }],
    justification: 'checks rules of the workspace',
    match: ['promtool check rules alerts.yml', 'promtool test rules tests.yml'],
    notMatch: ['promtool query instant http://x up', 'amtool silence add x', 'promtool check config /outside/x'],
  },
  {
    id: 'workspace.boards',
    programs: words('platformio pio arduino-cli idf.py west'),
    paths: 'write',
    takesAnyVerb: true,
    cautions: [
      {
        word: /^(?:upload|flash|monitor|erase.*|.*-flash|debug.*|attach|gdb.*|openocd|--upload|uploadfs|nobuild)$/,
        concern: 'runs_other_code',
        message: 'a device or a debugger',
      },
    ],
    verbs: [
      {
        verbs: words(
          'pkg lib upgrade account remote home device core update install login org team access package system settings board burn-bootloader daemon config init',
        ),
        concern: 'network_blocked',
        message: 'needs the network or a device',
      },
    ],
    justification: 'builds and tests firmware of the workspace',
    match: ['pio run -e native', 'pio test -e native', 'idf.py build', 'west build -b x app', 'arduino-cli compile --fqbn a:b:c .'],
    notMatch: [
      'pio run -t upload',
      'idf.py -p /dev/ttyUSB0 flash',
      'arduino-cli upload .',
      'pio home',
      'west flash',
      'arduino-cli core install x',
    ],
  },
  {
    id: 'workspace.images',
    programs: words('packer terragrunt'),
    paths: 'write',
    verbs: [
      { verbs: words('version fmt validate hclfmt hclvalidate inspect') },
      { verbs: words('init plugins build plan apply destroy run-all hcl'), concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'formats and checks descriptions of the workspace',
    match: ['packer validate x.pkr.hcl', 'packer fmt .', 'terragrunt hclfmt'],
    notMatch: ['packer build x.pkr.hcl', 'terragrunt apply'],
  },
];
