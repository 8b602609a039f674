// Apps import only this module. The types of its signatures and of its notifications come from the
// two modules below.
@_exported public import HTTPSignatures
@_exported public import PushAPI
