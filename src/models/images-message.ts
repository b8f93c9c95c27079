const opening = '[Images of the results above, in order: '

/**
 * The text of the message that carries images of tool results. It is of role `user` and stands below them: chat templates
 * leave out the images of a `tool` message, or refuse them.
 */
export function toImagesText(labels: readonly string[]): string {
  return `${opening}${labels.join(', ')}]`
}

/** Whether a message is one of those, and no user's own. */
export function isImagesText(text: string): boolean {
  return text.startsWith(opening)
}
