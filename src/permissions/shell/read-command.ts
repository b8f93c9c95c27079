import { loadedParser } from './load-shell-parser.ts'
import { readScript } from './read-script.ts'
import { maxCommandLength, type Script } from './script.ts'

const maxNesting = 3
// Format characters and blanks that are not seen (or not seen as such), and control characters but tab and newline.
const unseen = /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?![\t\n])\p{Cc}|(?! )\p{Zs}/u
// Most commands are: the test above takes longer.
const printable = /^[\x20-\x7e\n\t]*$/

/** What a command line would run in `folder`. `loadShellParser` must have resolved; without it nothing is understood. */
export function readCommand(source: string, folder: string, nesting = 0): Script {
  if (source.length > maxCommandLength) return notRead('it is very long')
  if (!printable.test(source) && unseen.test(source)) return notRead('it has control or invisible characters')
  if (nesting > maxNesting) return notRead('it has scripts within scripts')
  if (source.trim() === '') return notRead('it is empty')
  const nested = (script: string, folders: string[]) =>
    folders.length === 1 ? readCommand(script, folders[0]!, nesting + 1) : notRead('it runs in one of several folders')
  const parse = loadedParser()
  if (parse === undefined) return notRead('commands cannot be parsed at present')
  return parse(source, (root) => readScript(root, { source, folder, nested })) ?? notRead('it takes long to parse')
}

function notRead(why: string): Script {
  return { units: [], redirects: [], problems: [why] }
}
