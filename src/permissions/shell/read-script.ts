import { type After, followCd, union } from './folders.ts'
import { createRedirectReader } from './read-redirects.ts'
import { createWordReader } from './read-words.ts'
import type { Redirect, Script, ShellUnit } from './script.ts'
import { leaves, type SyntaxNode, understood, wordKinds } from './syntax.ts'
import { unwrap } from './unwrap.ts'
import { dynamicWord, splitWords, type Word } from './words.ts'

/** What a tree is read with: its source, where it runs, and how a script inside it (`bash -c '...'`) is read. */
export type Reading = { source: string; folder: string; nested(source: string, folders: string[]): Script }

/** What the readers of words and redirections need of the whole. */
export type Reader = Pick<Reading, 'source'> & {
  textOf(node: SyntaxNode): string
  problem(why: string): void
  parts(node: SyntaxNode): SyntaxNode[]
  statement(node: SyntaxNode, folders: string[]): After
  sequence(node: SyntaxNode, folders: string[]): After
  /** All folders after it, whether it went well or not. */
  join(after: After): string[]
  nest<T>(work: () => T): T | undefined
}

const maxDepth = 400
const maxNodes = 3000
const maxChanges = 8
const maxWrappers = 8
const loopVariable = /^[a-z_][a-z0-9_]*$/
const specialVariable = /path$|^(argv|status|prompt)$/
const sequences = new Set('program subshell compound_statement do_group else_clause command_substitution'.split(' '))
const branches = new Set('if_statement elif_clause while_statement for_statement'.split(' '))

/**
 * Everything that a command line would run, found in its tree: default deny. A kind of node, a sign or a text between
 * nodes that is not known to be harmless is a problem; what lies under it is read all the same, for rules that deny.
 */
export function readScript(root: SyntaxNode, { source, folder, nested }: Reading): Script {
  const units: ShellUnit[] = []
  const redirects: Redirect[] = []
  const problems = new Set<string>()
  let depth = 0
  let changes = 0

  const textOf = (node: SyntaxNode) => source.slice(node.startIndex, node.endIndex)
  const problem = (why: string) => void problems.add(why)
  const reader: Reader = { source, textOf, problem, parts, statement, sequence, join, nest }
  const { word, inside, assignment } = createWordReader(reader)
  const { redirect, redirection } = createRedirectReader(reader, word, redirects)

  if (root.descendantCount > maxNodes) return { units, redirects, problems: ['it has very many parts'] }
  if (root.hasError) problem('it cannot be parsed')
  if (!isGap(source.slice(0, root.startIndex)) || !isGap(source.slice(root.endIndex)))
    problem('parts of it are unclear')
  statement(root, [folder])
  return { units, redirects, problems: [...problems] }

  function statement(node: SyntaxNode, folders: string[]): After {
    return nest(() => visit(node, folders)) ?? { ok: folders, failed: folders }
  }

  /** A level deeper, if there is one left. */
  function nest<T>(work: () => T): T | undefined {
    if (depth > maxDepth) {
      problem('it has very many parts')
      return undefined
    }
    depth++
    try {
      return work()
    } finally {
      depth--
    }
  }

  function visit(node: SyntaxNode, folders: string[]): After {
    const stays = { ok: folders, failed: folders }
    if (node.type === 'command') return command(node, folders)
    if (node.type === 'list') return list(node, folders)
    if (node.type === 'redirected_statement') return redirected(node, folders)
    if (node.type === 'test_command') return test(node, folders)
    if (node.type === 'declaration_command' || node.type === 'unset_command') return declaration(node, folders)
    if (node.type === 'process_substitution' || node.type === 'subshell' || node.type === 'command_substitution') {
      sequence(node, folders)
      return stays
    }
    if (sequences.has(node.type)) return sequence(node, folders)
    if (branches.has(node.type)) return branch(node, folders)
    if (node.type === 'pipeline' || node.type === 'negated_command') {
      const results = parts(node).map((child) => statement(child, folders))
      const [first = stays] = results
      if (node.type === 'negated_command') return { ok: first.failed, failed: first.ok }
      // Some shells run the last one in the shell itself.
      const all = results.reduce((sum, result) => join({ ok: sum, failed: join(result) }), folders)
      return { ok: all, failed: all }
    }
    if (node.type === 'file_redirect') redirect(node, folders)
    else if (wordKinds.has(node.type)) word(node, folders)
    else if (!leaves.has(node.type)) unknown(node, folders)
    return stays
  }

  /** The named children, when nothing else is in the node but signs that belong to its kind and blanks. */
  function parts(node: SyntaxNode): SyntaxNode[] {
    const signs = understood.get(node.type)
    if (signs === undefined) problem(`it has a ${node.type.replaceAll('_', ' ')}`)
    const { children } = node
    let at = node.startIndex
    for (const child of children) {
      if (!isGap(source.slice(at, child.startIndex))) problem('parts of it are unclear')
      if (child.isError || child.isMissing) problem('it cannot be parsed')
      if (!child.isNamed && !signs?.has(child.type)) problem(`it has ${JSON.stringify(child.type)}`)
      if (child.type === 'comment' && !isComment(child)) problem('it has an unclear comment')
      at = child.endIndex
    }
    return children.filter(({ isNamed, type }) => isNamed && type !== 'comment')
  }

  function isComment({ startIndex, endIndex }: SyntaxNode): boolean {
    const [before = '\n', blank = '\n'] = [source[startIndex - 2], source[startIndex - 1]]
    const isWhole = endIndex === source.length || source[endIndex] === '\n'
    return /[ \t\n;]/.test(blank) && before !== '\\' && isWhole
  }

  /** One after the other: what is sent to the background runs in a shell of its own. */
  function sequence(node: SyntaxNode, folders: string[]): After {
    parts(node)
    let last: After = { ok: folders, failed: folders }
    let separated = true
    for (const [n, child] of node.children.entries()) {
      const gap = source.slice(node.children[n - 1]?.endIndex ?? node.startIndex, child.startIndex)
      if (gap.includes('\n') || !child.isNamed) separated = true
      if (!child.isNamed || child.type === 'comment') continue
      if (!separated) problem('parts of it are unclear')
      separated = false
      const before = join(last)
      const after = statement(child, before)
      last = node.children[n + 1]?.type === '&' ? { ok: before, failed: before } : after
    }
    return last
  }

  /** Conditions and loops: any part may have run before any later one. */
  function branch(node: SyntaxNode, folders: string[]): After {
    let all = folders
    for (const child of parts(node)) {
      if (child.type === 'variable_name') loopName(textOf(child))
      else all = join({ ok: all, failed: join(statement(child, all)) })
    }
    const isLoop = node.type === 'while_statement' || node.type === 'for_statement'
    if (isLoop && all.length !== folders.length) problem('it changes folders in a loop')
    return { ok: all, failed: all }
  }

  function loopName(name: string): void {
    if (!loopVariable.test(name) || specialVariable.test(name)) problem(`it sets ${name}`)
  }

  function list(node: SyntaxNode, folders: string[]): After {
    const [first, second, ...more] = parts(node)
    const sign = node.children.find(({ isNamed }) => !isNamed)?.type
    if (first === undefined || second === undefined || more.length > 0 || (sign !== '&&' && sign !== '||')) {
      problem('parts of it are unclear')
      for (const part of parts(node)) statement(part, folders)
      return { ok: folders, failed: folders }
    }
    const before = statement(first, folders)
    const after = statement(second, sign === '&&' ? before.ok : before.failed)
    return sign === '&&'
      ? { ok: after.ok, failed: join({ ok: before.failed, failed: after.failed }) }
      : { ok: join({ ok: before.ok, failed: after.ok }), failed: after.failed }
  }

  function join({ ok, failed }: After): string[] {
    const folders = union(ok, failed)
    if (folders === undefined) problem('it changes folders often')
    return folders ?? ok
  }

  function redirected(node: SyntaxNode, folders: string[]): After {
    const [body, ...rest] = parts(node)
    if (body === undefined) return { ok: folders, failed: folders }
    const hasBody = !body.type.endsWith('_redirect')
    const redirections = hasBody ? rest : [body, ...rest]
    const extra = redirections.flatMap((child) => redirection(child, folders))
    const isSplit = redirections.some((child) => child.children.some(({ type }) => type === '&>' || type === '&>>'))
    // For dash `a &> b c` is `a &`, then c with its output in b.
    if (extra.length > 0 && (isSplit || !hasBody || body.type !== 'command')) problem('parts of it are unclear')
    if (!hasBody) {
      problem('it opens files for no command')
      return { ok: folders, failed: folders }
    }
    const after = body.type === 'command' ? command(body, folders, extra) : statement(body, folders)
    if (!isSplit) return after
    const all = join({ ok: folders, failed: join(after) })
    return { ok: all, failed: all }
  }

  function command(node: SyntaxNode, folders: string[], extra: Word[] = []): After {
    const words: Word[] = []
    let hazard: string | undefined
    let end = -1
    for (const child of parts(node)) {
      if (child.type === 'variable_assignment') hazard = assignment(child, folders) ?? hazard
      else if (child.type.endsWith('_redirect')) words.push(...redirection(child, folders))
      else {
        if (child.startIndex === end) problem('parts of it are unclear')
        words.push(word(child, folders))
        end = child.endIndex
      }
    }
    if (/\n/.test(textOf(node).replace(/\\\n/g, '')) && hasBareNewline(node)) problem('parts of it are unclear')
    return simple({
      words: [...words, ...extra],
      source: textOf(node),
      folders,
      ...(hazard !== undefined && { hazard }),
    })
  }

  /** A newline between words would end the command. */
  function hasBareNewline({ startIndex, children }: SyntaxNode): boolean {
    return children.some((child, n) =>
      source
        .slice(children[n - 1]?.endIndex ?? startIndex, child.startIndex)
        .replaceAll('\\\n', '')
        .includes('\n'),
    )
  }

  function simple(unit: ShellUnit, wrappers = 0): After {
    const { words, folders } = unit
    const stays = { ok: folders, failed: folders }
    const inner = wrappers < maxWrappers ? unwrap(words) : undefined
    if (inner !== undefined) {
      if (inner.words !== undefined)
        simple({ ...unit, words: inner.words, wrapped: unit.wrapped ?? words }, wrappers + 1)
      if (inner.script !== undefined) include(nested(inner.script, folders), unit)
      if (/^(cd|pushd|popd)$/.test(inner.words?.[0]?.text ?? '')) problem('it changes folders in a wrapper')
      return stays
    }
    units.push(unit)
    const program = words[0]?.text
    if (program === 'popd') problem('it changes to an unknown folder')
    if (program !== 'cd' && program !== 'pushd') return stays
    const to = ++changes > maxChanges ? undefined : followCd(words, folders)
    if (to === undefined) problem('it changes to an unknown folder')
    return { ok: to ?? folders, failed: folders }
  }

  /** The units of a script inside a word. */
  function include(script: Script, outer: ShellUnit): void {
    const hazard = outer.hazard === undefined ? {} : { hazard: outer.hazard }
    units.push(...script.units.map((unit) => ({ ...unit, wrapped: outer.words, ...hazard })))
    redirects.push(...script.redirects)
    for (const why of script.problems) problem(why)
  }

  /** `[ ... ]` is a program like others, and `[[ ... ]]` a language of its own. */
  function test(node: SyntaxNode, folders: string[]): After {
    const words = splitWords(textOf(node))
    if (words?.[0]?.text === '[') return simple({ words, source: textOf(node), folders })
    unknown(node, folders)
    const head = dynamicWord(textOf(node))
    return simple({ words: words ?? [head], source: textOf(node), folders })
  }

  function declaration(node: SyntaxNode, folders: string[]): After {
    for (const child of node.children) if (child.isNamed) inside(child, folders)
    const source = textOf(node)
    const name = node.children[0]?.type ?? 'declare'
    const words = splitWords(source) ?? [
      { ...dynamicWord(name), dynamic: false },
      dynamicWord(source.slice(name.length).trim()),
    ]
    return simple({ words, source, folders, hazard: 'it sets or unsets variables' })
  }

  /** Not understood; what is in it is read, so that a rule may deny it. */
  function unknown(node: SyntaxNode, folders: string[]): void {
    problem(`it has a ${node.type.replaceAll('_', ' ')}`)
    for (const child of node.children) if (child.isNamed && !leaves.has(child.type)) statement(child, folders)
  }
}

/** Blanks, newlines, and lines that go on: but not in the middle of a word. */
function isGap(text: string): boolean {
  if (text === '' || /^[ \t\n]+$/.test(text)) return true
  const joined = text.replaceAll('\\\n', '')
  return joined !== '' && /^[ \t\n]+$/.test(joined)
}
