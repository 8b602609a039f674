// Apps import only this module. The types of its signed answers and of its items come from the two
// modules below.
@_exported public import HTTPSignatures
@_exported public import PushAPI
