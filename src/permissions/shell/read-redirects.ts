import { findHereDocumentProblem } from './here-document.ts'
import type { Reader } from './read-script.ts'
import type { Redirect } from './script.ts'
import { type SyntaxNode, understood, wordKinds } from './syntax.ts'
import type { Word } from './words.ts'

type ReadWord = (node: SyntaxNode, folders: string[]) => Word

/** Reads redirections into `found`: what the shell itself opens. */
export function createRedirectReader(
  { source, textOf, problem, parts, statement, join }: Reader,
  word: ReadWord,
  found: Redirect[],
) {
  return { redirect, redirection }

  /** Returns words that the parser puts here but that belong to the command. */
  function redirection(node: SyntaxNode, folders: string[]): Word[] {
    if (node.type === 'file_redirect') return redirect(node, folders)
    if (node.type === 'heredoc_redirect') return hereDocument(node, folders)
    for (const child of parts(node)) word(child, folders)
    return []
  }

  function redirect(node: SyntaxNode, folders: string[]): Word[] {
    const [target, ...extra] = parts(node).filter(({ type }) => type !== 'file_descriptor')
    const sign = node.children.find(({ isNamed }) => !isNamed)?.type ?? ''
    if (/^[<>]&-$/.test(sign))
      return [...(target ? [word(target, folders)] : []), ...extra.map((part) => word(part, folders))]
    if (target === undefined) {
      problem('parts of it are unclear')
      return []
    }
    const to = word(target, folders)
    const isCopy = sign.endsWith('&') && /^(\d+|-)$/.test(to.text)
    if (!isCopy) found.push({ word: to, writes: sign !== '<' && sign !== '<&', source: textOf(node), folders })
    return extra.map((part) => word(part, folders))
  }

  function hereDocument(node: SyntaxNode, folders: string[]): Word[] {
    const why = findHereDocumentProblem(node, source)
    if (why !== undefined) problem(why)
    const extra: Word[] = []
    for (const child of node.children) {
      if (!child.isNamed && !understood.get('heredoc_redirect')!.has(child.type)) problem('parts of it are unclear')
      if (child.isError || child.isMissing) problem('it cannot be parsed')
      if (!child.isNamed || child.type === 'heredoc_start' || child.type === 'heredoc_end') continue
      if (child.type === 'heredoc_body') for (const part of child.children) statement(part, folders)
      else if (child.type.endsWith('_redirect')) extra.push(...redirection(child, folders))
      else if (wordKinds.has(child.type)) extra.push(word(child, folders))
      else join(statement(child, folders))
    }
    return extra
  }
}
