import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A code block between fences; `line` counts from 1 and is that of its first line. */
export type Block = { language: string; text: string; line: number }

/** A Markdown file of ours. `prose` is its text without code blocks, on the same lines. */
export type Document = { path: string; text: string; prose: string; blocks: Block[] }

/** README, CHANGELOG, AGENTS.md and everything in docs/. */
export function loadDocuments(): Document[] {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  return ['README.md', 'CHANGELOG.md', 'AGENTS.md', ...docs.map((name) => `docs/${name}`)].map(loadDocument)
}

/** One of them, by its path in the package. */
export function loadDocument(path: string): Document {
  const text = readFileSync(join(root, path), 'utf8')
  return { path, text, ...splitBlocks(text) }
}

/** Blocks of one language in all documents, with where each stands. */
export function blocksOf(language: string): (Block & { at: string })[] {
  return loadDocuments().flatMap(({ path, blocks }) =>
    blocks.filter((block) => block.language === language).map((block) => ({ ...block, at: `${path}:${block.line}` })),
  )
}

/** What stands between backticks in the prose. */
export function codeSpans({ prose }: Document): string[] {
  return [...prose.matchAll(/(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/g)].map(([, , code = '']) => code.trim())
}

/** The targets of its links, web addresses left out. */
export function linkTargets({ prose }: Document): string[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => (/^[a-z]+:/.test(target) ? [] : [target]))
}

/** The anchors that GitHub makes of its headings. */
export function anchors({ prose }: Document): string[] {
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function splitBlocks(text: string): Pick<Document, 'prose' | 'blocks'> {
  const blocks: Block[] = []
  const prose: string[] = []
  let open: Block | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\w*)/.exec(line)
    if (open === undefined && fence) open = { language: fence[1] ?? '', text: '', line: index + 2 }
    else if (open !== undefined && line === '```') {
      blocks.push(open)
      open = undefined
    } else if (open !== undefined) open.text += `${line}\n`
    prose.push(open === undefined && !fence && line !== '```' ? line : '')
  }
  if (open !== undefined) throw new Error(`The code block at line ${open.line} has no end.`)
  return { prose: prose.join('\n'), blocks }
}

/** A command line as words; what a shell would do with quotes, and nothing else. */
export type CommandLine = { words: string[]; at: string }

/** The commands of all `sh` blocks, parts of pipes and lists one by one, without comments and variables set before them. */
export function commandLines(): CommandLine[] {
  return blocksOf('sh').flatMap(({ text, at }) =>
    text.split('\n').flatMap((line) => splitCommands(line).map((words) => ({ words, at: `${at}: ${line.trim()}` }))),
  )
}

const word = /"((?:[^"\\]|\\.)*)"|'([^']*)'|([|&;<>]+)|([^\s"'|&;<>]+)/g

function splitCommands(line: string): string[][] {
  const commands: string[][] = [[]]
  let redirected = false
  for (const [whole, double, single, operator] of line.replace(/(^|\s)#.*$/, '').matchAll(word)) {
    if (operator !== undefined) {
      redirected = /[<>]/.test(operator)
      if (!redirected) commands.push([])
    } else if (redirected) redirected = false
    else commands.at(-1)?.push(double ?? single ?? whole)
  }
  return commands.map(withoutVariables).filter((words) => words.length > 0)
}

function withoutVariables(words: string[]): string[] {
  const first = words.findIndex((text) => !/^[A-Z_]+=/.test(text))
  return first === -1 ? [] : words.slice(first)
}
