/** Build systems of the Java world: goals that build and test are the project's own, which the sandbox holds. */
import type { Caution, ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

const agents: Caution = {
  word: /-(?:javaagent|agentlib|agentpath|Xrunjdwp|Xdebug)\b|^-D(?:maven\.(?:surefire|failsafe)\.debug|org\.gradle\.debug)\b|^--debug-jvm$/,
  concern: 'runs_other_code',
  message: 'opens a debugger or loads an agent',
};
/** Publishing; what only fetches is harmless offline. */
const publishes: Caution = {
  word: /^:?(?:[\w.-]+:)*(?:(?:site-)?deploy|publish\w*|uploadArchives|closeAndRelease\w*|release|prepare|perform|deploy-file)$/,
  concern: 'network_blocked',
  message: 'publishes',
};

export const javaBuilderRules: readonly ToolRule[] = [
  {
    id: 'workspace.maven',
    programs: ['mvn', 'mvnw', 'mvnd'],
    paths: 'write',
    textOptions: words('-pl --projects -P --activate-profiles -rf --resume-from -T --threads'),
    cautions: [
      agents,
      publishes,
      {
        // With two colons or more it is a plugin by its coordinates, which need not be there.
        word: /^(?:wrapper|wrapper:.*|archetype:.*|dependency:(?:get|resolve(?:-\w+)?|go-offline|sources|copy|unpack|purge-local-repository)|versions:(?:display|use|update|resolve|dependency)-.*|(?!-)[\w.-]+(?::[\w.-]+){2,})$/,
        concern: 'network_blocked',
        message: 'needs the network',
        unless: /^(?:-o|--offline)$/,
      },
      { word: /^(?:exec:exec(?:@.*)?|-Dexec\.executable\b.*)$/, concern: 'runs_other_code', message: 'runs another program' },
      {
        word: /^(?:spring-boot:(?:run|start)|jetty:(?:run|start).*|tomcat\d*:run.*|quarkus:dev|liberty:(?:run|dev)|wildfly:(?:run|start)|cargo:(?:run|start)|appengine:run|mn:run)$/,
        concern: 'never_ends',
        message: 'a server',
      },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['mvn test', 'mvn -q -o verify', 'mvn dependency:tree', 'mvn -pl core -am package', 'mvn -o dependency:resolve'],
    notMatch: [
      'mvn deploy',
      'mvn dependency:resolve',
      'mvn -f /outside/pom.xml test',
      'mvn org.x:y-maven-plugin:1.0:go',
      'mvn exec:exec -Dexec.executable=sh',
      'mvn spring-boot:run',
      'mvn -Dmaven.surefire.debug test',
    ],
  },
  {
    id: 'workspace.gradle',
    programs: ['gradle', 'gradlew'],
    paths: 'write',
    textOptions: ['--tests', '-x', '--exclude-task', '--configuration', '--dependency', '--console'],
    cautions: [
      agents,
      publishes,
      {
        word: /^(?:wrapper|init|--scan|--publish-build-scan|--refresh-dependencies)$/,
        concern: 'network_blocked',
        message: 'needs the network',
        unless: /^--offline$/,
      },
      { word: /^(?:--init-script|-I$)/, concern: 'runs_other_code', message: 'instructions that are not the project' },
      {
        word: /^(?:-t|--continuous|:?(?:[\w.-]+:)*(?:bootRun|quarkusDev|appRun|jettyRun|tomcatRun|runServer|asciidoctorServe))$/,
        concern: 'never_ends',
        message: 'a server, or waits for changes',
      },
    ],
    justification: 'builds by the instructions of the project, which the sandbox holds',
    match: ['gradle build', './gradlew test --offline', 'gradle :app:dependencies', "gradle test --tests '*Foo*' -x lint"],
    notMatch: [
      'gradle publish',
      './gradlew :lib:publishAllPublicationsToMavenCentral',
      'gradle -I /outside/x.gradle build',
      'gradle bootRun',
      'gradle build --continuous',
      'gradle test --debug-jvm',
      'gradle -p /outside build',
    ],
  },
];
