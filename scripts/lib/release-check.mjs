// What stands against a release, from facts alone: `scripts/release.mjs` reads them.

/** The branch that releases are made of. */
const BRANCH = 'main';

/**
 * A sentence for each reason why no release can be made now.
 *
 * @param {object} facts
 * @param {string} facts.version as in package.json
 * @param {string} facts.today as 2026-11-29
 * @param {string} facts.branch
 * @param {string} facts.changes what `git status --porcelain` prints
 * @param {boolean} facts.isTagged
 * @param {boolean} facts.isKept whether its histories are kept already
 * @param {string} facts.changelog the text of CHANGELOG.md
 */
export function reasonsAgainst({ version, today, branch, changes, isTagged, isKept, changelog }) {
  const heading = `## [${version}] - ${today}`;
  const section = sectionOf(changelog, version);
  return [
    ...(/^\d+\.\d+\.\d+$/.test(version) ? [] : [`'${version}' in package.json is no version as 1.2.3.`]),
    ...(branch === BRANCH ? [] : [`A release is made of ${BRANCH}, and this is ${branch}.`]),
    ...(changes === '' ? [] : [`There are changes that are not committed:\n${changes}`]),
    ...(isTagged ? [`There is a tag v${version}: name the next version in package.json.`] : []),
    ...(isKept ? [`The histories of ${version} are kept already, and do not change any more.`] : []),
    ...(section === null
      ? [`CHANGELOG.md has no section '${heading}'.`]
      : section.heading === heading
        ? []
        : [`CHANGELOG.md says '${section.heading}', and today it must say '${heading}'.`]),
    ...(section?.text === '' ? [`CHANGELOG.md says nothing below '${section.heading}'.`] : []),
  ];
}

/**
 * @param {string} changelog
 * @param {string} version
 * @returns {{ heading: string, text: string } | null}
 */
function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find((section) => section.startsWith(`## [${version}]`));
  if (found === undefined) return null;
  const [heading = '', ...lines] = found.split('\n');
  const text = lines.filter((line) => !/^\[[^\]]+\]: /.test(line)).join('\n');
  return { heading, text: text.trim() };
}
