// What an app of yours fills in.
export default {
  title: 'Clinic',
  // For {keys: ['the key in use', 'the next one']}, `sealpost signing-keys list` shows the keys. Of
  // unsigned answers, whoever ends TLS can make up each one.
  signatures: 'unsigned',
};
